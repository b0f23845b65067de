import Foundation
import LarderCache
import LarderCore
import LarderExport
import NIOCore
import Synchronization

/// The descriptions of all icons. A thread makes them when a client looks, if they are too old.
final class ServedGallery: Sendable {
    /// Descriptions are made again after this time even if nothing has changed: icons become stale.
    private static let longestLifetime = TimeAmount.minutes(5)
    /// Earlier descriptions are kept for this time after their last use: a page asks for the rest.
    private static let keptUnused = TimeAmount.minutes(5)
    private static let mostKept = 4

    private struct Kept {
        let build: GalleryBuild
        var usedAt = NIODeadline.now()
    }

    private let icons: IconStore
    private let configuration: ServerConfiguration
    private let log: ServerLog
    private let newest: Rebuilt<GallerySources, GalleryBuild>
    private let kept = Mutex<[Kept]>([])

    /// Descriptions are shown for at least `leastLifetime`, and for `lifetimeFactor` times the time
    /// that it took to make them.
    init(
        _ icons: IconStore, _ configuration: ServerConfiguration,
        leastLifetime: TimeAmount = .seconds(10), lifetimeFactor: Int = 20, log: ServerLog
    ) {
        self.icons = icons
        self.configuration = configuration
        self.log = log
        newest = Rebuilt(
            .init(least: leastLifetime, factor: lifetimeFactor, most: Self.longestLifetime))
    }

    /// Returns the first description, or that it is being made. Starts to make it if it is too old.
    func description() -> GalleryText {
        let sources = GallerySources(icons.cache, configuration.manifests)
        switch newest.step(sources) {
        case .build:
            start(sources)
            return .notYet
        case .building: return .notYet
        case .last(let build?):
            // An old one says more than none.
            return text(of: GalleryFile.catalogue, in: build) ?? .notYet
        case .last(nil):
            return GalleryText(
                GalleryFile.description(
                    ofProblem: "The gallery cannot be made. The server's messages say why."),
                digest: nil)
        }
    }

    /// Returns another of its files; nil if there is none, or no longer.
    func text(of path: String) -> GalleryText? {
        let build = kept.withLock { $0.last { $0.build.has(path) }?.build }
        return build.flatMap { text(of: path, in: $0) }
    }

    private func text(of path: String, in build: GalleryBuild) -> GalleryText? {
        kept.withLock { kept in
            if let index = kept.firstIndex(where: { $0.build === build }) {
                kept[index].usedAt = .now()
            }
        }
        return build.text(of: path)
    }

    /// Manifests may be long, so that this would keep one of the few threads of the pool.
    private func start(_ sources: GallerySources) {
        let start = NIODeadline.now()
        let hasThread = HelperThread.start { [self] in
            end(Result { try GalleryBuild(icons, configuration) }, sources, since: start)
        }
        if !hasThread { end(.failure(HelperThread.shortage), sources, since: start) }
    }

    private func end(
        _ result: Result<GalleryBuild, any Error>, _ sources: GallerySources,
        since start: NIODeadline
    ) {
        switch result {
        case .success(let build):
            kept.withLock { kept in
                kept.removeAll { NIODeadline.now() - $0.usedAt > Self.keptUnused }
                while kept.count >= Self.mostKept,
                    let index = kept.indices.min(by: { kept[$0].usedAt < kept[$1].usedAt })
                {
                    kept.remove(at: index)
                }
                kept.append(Kept(build: build))
            }
            log.logger?.info(
                "gallery made",
                metadata: [
                    "files": "\(build.fileCount)",
                    "milliseconds": "\((NIODeadline.now() - start).nanoseconds / 1_000_000)",
                ])
        case .failure(let error):
            log.problem(
                "the gallery: \(error)\(newest.last == nil ? "" : "; the last one is still shown")")
        }
        newest.end(try? result.get(), of: sources, since: start)
    }
}

/// What a gallery is made of. While it stays equal, icons only become stale or damaged.
struct GallerySources: Sendable, Equatable {
    private let generation: Int
    private let manifests: [FileIdentity?]

    init(_ cache: LiveCache, _ manifests: [ServedManifest]) {
        generation = cache.generation
        self.manifests = manifests.map { manifest in
            guard case .file(let path) = manifest.source else { return nil }
            return FileIdentity(path: path)
        }
    }
}

/// The descriptions of all icons at one moment, in a temporary file: slow clients cost no memory.
final class GalleryBuild: Sendable {
    private typealias Part = (range: Range<Int64>, digest: Digest)

    private let file: LentFile
    private let parts: [[UInt8]: Part]

    init(_ icons: IconStore, _ configuration: ServerConfiguration) throws {
        let place = try icons.cache.using { cache in
            let place = try Place(icons)
            let gallery = Gallery(
                of: cache, manifests: configuration.manifests.map(\.source),
                rules: configuration.manifestRules)
            try gallery.write(to: place, isNamedByContent: true)
            return place
        }
        file = LentFile(place.file, size: place.end)
        parts = place.parts
    }

    var fileCount: Int { parts.count }

    func has(_ path: String) -> Bool { parts[Array(path.utf8)] != nil }

    func text(of path: String) -> GalleryText? {
        guard let part = parts[Array(path.utf8)] else { return nil }
        return GalleryText(
            .file(file, part.range), digest: part.digest,
            isUnchanging: !path.isSame(as: GalleryFile.catalogue))
    }

    private final class Place: GalleryPlace {
        let objects = "objects/sha256/"
        let file: LarderCache.FileDescriptor
        private(set) var parts: [[UInt8]: Part] = [:]
        private let icons: IconStore
        private(set) var end: Int64 = 0

        init(_ icons: IconStore) throws {
            self.icons = icons
            file = try LarderCache.FileDescriptor.unnamed()
        }

        func address(of object: StoredObject) throws -> String? {
            do {
                _ = try icons.file(of: object)
                return object.digest.hex
            } catch let error as CacheError where error.isOfObject {
                return nil
            }
        }

        func write(_ made: GalleryFile) throws {
            try file.write(made.bytes)
            let start = end
            end += Int64(made.bytes.count)
            parts[Array(made.path.utf8)] = (start..<end, Digest(of: made.bytes))
        }
    }
}

struct GalleryText: Sendable {
    let body: Response.Body
    /// The digest of the bytes; nil if the file will soon have others.
    let digest: Digest?
    let isUnchanging: Bool

    init(_ body: Response.Body, digest: Digest?, isUnchanging: Bool) {
        (self.body, self.digest, self.isUnchanging) = (body, digest, isUnchanging)
    }

    init(_ file: GalleryFile, digest: Digest?) {
        self.init(.bytes(ByteBuffer(bytes: file.bytes)), digest: digest, isUnchanging: false)
    }

    static let notYet = GalleryText(GalleryFile.notYet, digest: nil)
}
