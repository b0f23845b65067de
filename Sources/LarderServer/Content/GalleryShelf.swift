import Foundation
import LarderGallery
import NIOCore
import Synchronization

/// The gallery's descriptions of all icons: made when somebody looks, on a thread of their own, and
/// again once they are too old.
final class GalleryShelf: Sendable {
    /// So long, what was made is shown as it is.
    private static let lifetime = TimeAmount.seconds(10)

    private enum Outcome {
        case made(GalleryBuild)
        case failed(String, at: NIODeadline)

        var isOld: Bool {
            switch self {
            case .made(let build): NIODeadline.now() - build.madeAt > lifetime
            case .failed(_, let instant): NIODeadline.now() - instant > lifetime
            }
        }
    }

    private struct State {
        var last: Outcome?
        /// Pages that have begun to load it may ask for the rest.
        var earlier: GalleryBuild?
        var isMaking = false
        var count = 0
    }

    private let reader: CacheReader
    private let configuration: ServerConfiguration
    private let onProblem: @Sendable (String) -> Void
    private let state = Mutex(State())

    init(
        _ reader: CacheReader, _ configuration: ServerConfiguration,
        onProblem: @escaping @Sendable (String) -> Void
    ) {
        self.reader = reader
        self.configuration = configuration
        self.onProblem = onProblem
    }

    /// What the page asks for first: the description, or that it is still being made. Starts the
    /// making of it if it is too old.
    func description() throws -> ByteBuffer {
        let last: Outcome? = state.withLock { state in
            if let last = state.last, !last.isOld { return last }
            if !state.isMaking {
                state.isMaking = true
                state.count += 1
                start(number: state.count)
            }
            return nil
        }
        switch last {
        case .made(let build): return try build.bytes(of: GalleryFile.catalogue) ?? ByteBuffer()
        case .failed(let message, _):
            return ByteBuffer(bytes: GalleryFile.description(ofProblem: message).bytes)
        case nil: return ByteBuffer(bytes: GalleryFile.notYet.bytes)
        }
    }

    /// Another of its files; nil if there is none, or no longer.
    func bytes(of path: String) throws -> ByteBuffer? {
        let (last, earlier) = state.withLock { ($0.last, $0.earlier) }
        if case .made(let build) = last, let bytes = try build.bytes(of: path) { return bytes }
        return try earlier?.bytes(of: path)
    }

    /// Manifests may be long: none of the few threads that answer is kept.
    private func start(number: Int) {
        let thread = Thread { [self] in
            let outcome: Outcome
            do {
                outcome = .made(
                    try GalleryBuild(
                        reader, configuration.manifests, configuration, number: number))
            } catch {
                onProblem("the gallery: \(error)")
                outcome = .failed("The gallery cannot be made: \(error)", at: .now())
            }
            state.withLock { state in
                if case .made(let build) = state.last { state.earlier = build }
                state.last = outcome
                state.isMaking = false
            }
        }
        thread.name = "larder.gallery"
        thread.start()
    }
}
