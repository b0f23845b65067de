import Foundation
import LarderCache
import LarderCore
import LarderExport
import NIOCore
import Synchronization

/// The gallery's descriptions of all icons: made when somebody looks, on a thread of their own, and
/// again once they are too old.
final class GalleryShelf: Sendable {
    /// What was made is shown as it is for so long if neither the index nor a manifest changes:
    /// icons become stale.
    fileprivate static let longestLifetime = TimeAmount.minutes(5)
    /// A page that has begun to load may ask for the rest of it: what was made earlier is kept for
    /// so long after the last request for it, as far as it is not too much.
    fileprivate static let keptUnused = TimeAmount.minutes(5)
    fileprivate static let mostKept = 4

    fileprivate struct Made {
        let build: GalleryBuild
        let sources: GallerySources
        let at = NIODeadline.now()
        let lifetime: TimeAmount
        var usedAt = NIODeadline.now()

        func isOld(_ now: GallerySources) -> Bool {
            let age = NIODeadline.now() - at
            return age > lifetime && (sources != now || age > longestLifetime)
        }
    }

    fileprivate struct State {
        /// The newest is the last.
        var made: [Made] = []
        /// Until when the last one, which could not be made, is not tried again; nil if it could.
        var failedUntil: NIODeadline?
        var isMaking = false
    }

    private enum Found {
        case build(GalleryBuild)
        case failed
        case notYet
    }

    private let reader: CacheReader
    private let configuration: ServerConfiguration
    private let leastLifetime: TimeAmount
    private let lifetimeFactor: Int
    private let onProblem: @Sendable (String) -> Void
    private let state = Mutex(State())

    /// - Parameters:
    ///   - leastLifetime: how long what was made is shown at least.
    ///   - lifetimeFactor: how much longer than the making took.
    init(
        _ reader: CacheReader, _ configuration: ServerConfiguration,
        leastLifetime: TimeAmount = .seconds(10), lifetimeFactor: Int = 20,
        onProblem: @escaping @Sendable (String) -> Void
    ) {
        self.reader = reader
        self.configuration = configuration
        self.leastLifetime = leastLifetime
        self.lifetimeFactor = lifetimeFactor
        self.onProblem = onProblem
    }

    /// What the page asks for first: the description, or that it is still being made. Starts the
    /// making of it if it is too old.
    func description() -> GalleryText {
        let sources = GallerySources(reader, configuration.manifests)
        let found: Found = state.withLock { state in
            if let end = state.failedUntil {
                // An old one says more than none.
                if .now() <= end { return state.useLast().map(Found.build) ?? .failed }
            } else if let last = state.made.last, !last.isOld(sources) {
                return state.useLast().map(Found.build) ?? .failed
            }
            if !state.isMaking {
                state.isMaking = true
                start(sources)
            }
            return .notYet
        }
        switch found {
        case .build(let build):
            return build.text(of: GalleryFile.catalogue)
                ?? GalleryText(GalleryFile.notYet, digest: nil)
        case .failed:
            return GalleryText(
                GalleryFile.description(
                    ofProblem: "The gallery cannot be made. The server's messages say why."),
                digest: nil)
        case .notYet: return GalleryText(GalleryFile.notYet, digest: nil)
        }
    }

    /// Another of its files; nil if there is none, or no longer.
    func text(of path: String) -> GalleryText? {
        let build: GalleryBuild? = state.withLock { state in
            guard let index = state.made.lastIndex(where: { $0.build.has(path) }) else {
                return nil
            }
            state.made[index].usedAt = .now()
            return state.made[index].build
        }
        return build?.text(of: path)
    }

    /// Manifests may be long: none of the few threads that answer is kept.
    ///
    /// - Parameter sources: as they were before.
    private func start(_ sources: GallerySources) {
        let start = NIODeadline.now()
        let hasThread = HelperThread.start { [self] in
            end(Result { try GalleryBuild(reader, configuration) }, sources, since: start)
        }
        if !hasThread { end(.failure(HelperThread.shortage), sources, since: start) }
    }

    private func end(
        _ build: Result<GalleryBuild, any Error>, _ sources: GallerySources,
        since start: NIODeadline
    ) {
        let lifetime = max(leastLifetime, (.now() - start) * lifetimeFactor)
        if case .failure(let error) = build {
            let hasOld = state.withLock { !$0.made.isEmpty }
            onProblem("the gallery: \(error)\(hasOld ? "; the last one is still shown" : "")")
        }
        state.withLock { state in
            state.isMaking = false
            switch build {
            case .success(let build):
                state.failedUntil = nil
                state.dropUnused()
                state.made.append(Made(build: build, sources: sources, lifetime: lifetime))
            case .failure: state.failedUntil = .now() + lifetime
            }
        }
    }
}

extension GalleryShelf.State {
    /// The newest, which is shown now; nil if there is none.
    fileprivate mutating func useLast() -> GalleryBuild? {
        guard !made.isEmpty else { return nil }
        made[made.count - 1].usedAt = .now()
        return made.last?.build
    }

    /// Makes room for another one.
    fileprivate mutating func dropUnused() {
        made.removeAll { NIODeadline.now() - $0.usedAt > GalleryShelf.keptUnused }
        while made.count >= GalleryShelf.mostKept,
            let index = made.indices.min(by: { made[$0].usedAt < made[$1].usedAt })
        {
            made.remove(at: index)
        }
    }
}

/// What a gallery was made of: as long as that stays, so do its icons, but for those that become
/// stale or are damaged.
struct GallerySources: Sendable, Equatable {
    private let generation: Int
    private let manifests: [FileIdentity?]

    /// As it is now. What is at URLs is in the cache.
    init(_ reader: CacheReader, _ manifests: [ServedManifest]) {
        generation = reader.generation
        self.manifests = manifests.map { manifest in
            guard case .file(let path) = manifest.source else { return nil }
            return FileIdentity(path: path)
        }
    }
}

/// A script of the gallery, as it is sent.
struct GalleryText: Sendable {
    let body: Response.Body
    /// Of the bytes; nil if there are soon to be others.
    let digest: Digest?
    /// Whether what has its name never changes.
    let isUnchanging: Bool

    init(_ body: Response.Body, digest: Digest?, isUnchanging: Bool) {
        (self.body, self.digest, self.isUnchanging) = (body, digest, isUnchanging)
    }

    /// A small file that is at hand.
    ///
    /// - Parameter digest: of its bytes; nil if it is only sent in place of another.
    init(_ file: GalleryFile, digest: Digest?) {
        self.init(.bytes(ByteBuffer(bytes: file.bytes)), digest: digest, isUnchanging: false)
    }
}
