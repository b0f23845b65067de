import Foundation
import LarderCache
import LarderCore
import LarderExport
import NIOCore
import Synchronization

final class ServedGallery: Sendable {
    /// The maximum lifetime of a build, because icons become stale even in an unchanged cache.
    private static let longestLifetime = TimeAmount.minutes(5)
    /// The time that an unused build is kept, because open pages may request its files.
    private static let unusedLifetime = TimeAmount.minutes(5)
    private static let maximumBuilds = 4
    private static let policy = """
        default-src 'none'; img-src 'self' data:; script-src 'self'; style-src 'self'; \
        base-uri 'none'; form-action 'none'; frame-ancestors 'none'
        """
    /// Keeps other sites from including the scripts, which describe the icons.
    private static let isolation = ("Cross-Origin-Resource-Policy", "same-origin")
    private static let files = GalleryFile.page.map { file in
        (file: file, text: GalleryText(file, digest: Digest(of: file.bytes)))
    }

    private let icons: IconStore
    private let configuration: ServerConfiguration
    private let log: ServerLog
    private let newest: Rebuilt<[String?], GalleryBuild>
    private let kept = Mutex<[(build: GalleryBuild, usedAt: NIODeadline)]>([])

    init(
        _ icons: IconStore, _ configuration: ServerConfiguration,
        leastLifetime: TimeAmount = .seconds(10), lifetimeFactor: Int = 20, log: ServerLog
    ) {
        (self.icons, self.configuration, self.log) = (icons, configuration, log)
        newest = Rebuilt(
            .init(least: leastLifetime, factor: lifetimeFactor, most: Self.longestLifetime))
    }

    func atOnce(_ request: RoutedRequest) -> Response? {
        // A page on another site could load a script of the gallery and read the data in it.
        if request.request.isCrossSite, !request.path.utf8.elementsEqual("/".utf8) {
            return Response(403, text: "This file is only for the gallery page.", [Self.isolation])
        }
        let path = Self.path(of: request)
        return Self.files.first { $0.file.path.isSame(as: path) }
            .map { Self.response($0.file.mediaType, $0.text, request.request) }
    }

    func answer(_ request: RoutedRequest) -> Response {
        let path = Self.path(of: request)
        let text = path.isSame(as: GalleryFile.catalogue) ? description() : self.text(of: path)
        guard let text else {
            return Response(404, text: "This file no longer exists.", [Self.isolation])
        }
        return Self.response(GalleryFile.script, text, request.request)
    }

    private static func path(of request: RoutedRequest) -> String {
        let path = request.path.dropFirst()
        return path.utf8.isEmpty ? "index.html" : String(path)
    }

    private static func response(
        _ mediaType: String, _ text: GalleryText, _ request: ServerRequest
    ) -> Response {
        let tag = text.digest.map { "\"\($0.hex)\"" }
        // A shared cache would not check which site includes the scripts.
        let lifetime =
            text.isUnchanging
            ? "private, max-age=31536000, immutable" : tag == nil ? "no-store" : "no-cache"
        var fields = [("Cache-Control", lifetime), isolation]
        if let tag { fields.append(("ETag", tag)) }
        if let tag, let tags = request.ifNoneMatch, EntityTagList(tags).matches(tag, weakly: true) {
            return .notModified(fields: Response.lines(fields))
        }
        return Response(
            200,
            [
                ("Content-Type", mediaType), ("X-Content-Type-Options", "nosniff"),
                ("Content-Security-Policy", policy), ("Referrer-Policy", "no-referrer"),
            ] + fields, body: text.body)
    }

    func description() -> GalleryText {
        let manifests: [String?] = configuration.manifests.map { manifest in
            guard case .file(let path) = manifest.source else { return nil }
            return FileIdentity(path: path)?.text
        }
        let sources = manifests + ["\(icons.cache.generation)"]
        if newest.mustBuild(sources) {
            let start = NIODeadline.now()
            // A separate thread, because long manifests would block the pool.
            let hasThread = HelperThread.start { [self] in
                end(Result { try GalleryBuild(icons, configuration) }, sources, since: start)
            }
            if !hasThread { end(.failure(HelperThread.shortage), sources, since: start) }
            return .notYet
        }
        if newest.isBuilding { return .notYet }
        if newest.last != nil { return text(of: GalleryFile.catalogue) ?? .notYet }
        let problem = "The gallery cannot be built. See the server's messages."
        return GalleryText(GalleryFile.description(ofProblem: problem))
    }

    func text(of path: String) -> GalleryText? {
        kept.withLock { kept in
            for index in kept.indices.reversed() {
                guard let text = kept[index].build.text(of: path) else { continue }
                kept[index].usedAt = .now()
                return text
            }
            return nil
        }
    }

    private func end(
        _ result: Result<GalleryBuild, any Error>, _ sources: [String?], since start: NIODeadline
    ) {
        switch result {
        case .success(let build):
            kept.withLock { kept in
                kept.removeAll { NIODeadline.now() - $0.usedAt > Self.unusedLifetime }
                if kept.count == Self.maximumBuilds,
                    let index = kept.indices.min(by: { kept[$0].usedAt < kept[$1].usedAt })
                {
                    kept.remove(at: index)
                }
                kept.append((build, .now()))
            }
            let milliseconds = (NIODeadline.now() - start).nanoseconds / 1_000_000
            log.logger?.info("gallery built", metadata: ["milliseconds": "\(milliseconds)"])
        case .failure(let error):
            let rest = newest.last == nil ? "" : "; the last version is still shown"
            log.problem("cannot build the gallery: \(error)\(rest)")
        }
        newest.end(try? result.get(), of: sources, since: start)
    }
}

/// The gallery's files in one temporary file, so that slow clients need no memory.
final class GalleryBuild: GalleryPlace, Sendable {
    let objects = "objects/sha256/"
    private let icons: IconStore
    private let file: LarderCache.FileDescriptor
    private let end = Atomic<Int64>(0)
    private let parts = Mutex<[[UInt8]: (range: Range<Int64>, digest: Digest)]>([:])

    init(_ icons: IconStore, _ configuration: ServerConfiguration) throws {
        self.icons = icons
        file = try LarderCache.FileDescriptor.unnamed()
        let manifests = configuration.manifests.map(\.source)
        _ = try icons.cache.using { cache in
            try Gallery(of: cache, manifests: manifests, rules: configuration.manifestRules)
                .write(to: self, isNamedByContent: true)
        }
    }

    func text(of path: String) -> GalleryText? {
        parts.withLock { $0[Array(path.utf8)] }.map { part in
            GalleryText(
                body: .file(LentFile(file, size: part.range.upperBound), part.range),
                digest: part.digest, isUnchanging: !path.isSame(as: GalleryFile.catalogue))
        }
    }

    func address(of object: StoredObject) throws -> String? {
        do {
            _ = try icons.file(of: object)
            return object.digest.hex
        } catch let error as CacheError where error.isOfObject { return nil }
    }

    func write(_ part: GalleryFile) throws {
        try file.write(part.bytes)
        let place = end.add(Int64(part.bytes.count), ordering: .relaxed)
        parts.withLock {
            $0[Array(part.path.utf8)] = (place.oldValue..<place.newValue, Digest(of: part.bytes))
        }
    }
}

struct GalleryText: Sendable {
    static let notYet = GalleryText(.notYet)

    let body: Response.Body
    let digest: Digest?
    var isUnchanging = false
}

extension GalleryText {
    init(_ file: GalleryFile, digest: Digest? = nil) {
        self.init(body: .bytes(ByteBuffer(bytes: file.bytes)), digest: digest)
    }
}
