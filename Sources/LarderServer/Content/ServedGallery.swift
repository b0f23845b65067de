import Foundation
import LarderCache
import LarderCore
import LarderExport
import NIOCore
import Synchronization

final class ServedGallery: Sendable {
    /// The maximum lifetime of a build, because icons become stale even if the cache does not
    /// change.
    private static let longestLifetime = TimeAmount.minutes(5)
    /// The time that an unused build is kept, because open pages may request its files.
    private static let unusedLifetime = TimeAmount.minutes(5)
    private static let maximumBuilds = 4

    private struct Kept {
        let build: GalleryBuild
        var usedAt = NIODeadline.now()
    }

    private let icons: IconStore
    private let configuration: ServerConfiguration
    private let log: ServerLog
    private let newest: Rebuilt<GallerySources, GalleryBuild>
    private let kept = Mutex<[Kept]>([])

    init(
        _ icons: IconStore, _ configuration: ServerConfiguration,
        leastLifetime: TimeAmount = .seconds(10), lifetimeFactor: Int = 20, log: ServerLog
    ) {
        (self.icons, self.configuration, self.log) = (icons, configuration, log)
        newest = Rebuilt(
            .init(least: leastLifetime, factor: lifetimeFactor, most: Self.longestLifetime))
    }

    /// Returns the latest build's description. If it is too old, starts a new build and returns
    /// ``GalleryText/notYet`` until this ends.
    func description() -> GalleryText {
        let sources = GallerySources(icons.cache, configuration.manifests)
        switch newest.step(sources) {
        case .build:
            start(sources)
            return .notYet
        case .building: return .notYet
        case .last(let build?):
            return text(of: GalleryFile.catalogue, in: build) ?? .notYet
        case .last(nil):
            return GalleryText(
                GalleryFile.description(
                    ofProblem: "The gallery cannot be built. See the server's messages."),
                digest: nil)
        }
    }

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

    /// Starts a build in its own thread, because long manifests would block the pool.
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
                kept.removeAll { NIODeadline.now() - $0.usedAt > Self.unusedLifetime }
                while kept.count >= Self.maximumBuilds,
                    let index = kept.indices.min(by: { kept[$0].usedAt < kept[$1].usedAt })
                {
                    kept.remove(at: index)
                }
                kept.append(Kept(build: build))
            }
            log.logger?.info(
                "gallery built",
                metadata: [
                    "files": "\(build.fileCount)",
                    "milliseconds": "\((NIODeadline.now() - start).nanoseconds / 1_000_000)",
                ])
        case .failure(let error):
            let rest = newest.last == nil ? "" : "; the last version is still shown"
            log.problem("cannot build the gallery: \(error)\(rest)")
        }
        newest.end(try? result.get(), of: sources, since: start)
    }
}

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

/// The gallery's files in one temporary file, so that slow clients need no memory.
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
            body: .file(file, part.range), digest: part.digest,
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

        func write(_ part: GalleryFile) throws {
            try file.write(part.bytes)
            let start = end
            end += Int64(part.bytes.count)
            parts[Array(part.path.utf8)] = (start..<end, Digest(of: part.bytes))
        }
    }
}

struct GalleryText: Sendable {
    let body: Response.Body
    let digest: Digest?
    let isUnchanging: Bool

    static let notYet = GalleryText(GalleryFile.notYet, digest: nil)
}

extension GalleryText {
    init(_ file: GalleryFile, digest: Digest?) {
        self.init(
            body: .bytes(ByteBuffer(bytes: file.bytes)), digest: digest, isUnchanging: false)
    }
}
