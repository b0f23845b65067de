import Foundation
import LarderCache
import LarderTestSupport

@testable import LarderServer

/// A running server with its own cache.
struct ServerFixture {
    let server: CacheServer
    let directory: TemporaryDirectory
    let port: UInt16
    /// The paths of the objects' files, by URL.
    let files: [String: String]

    var cache: String { directory.path("cache") }

    /// Returns the icons of a cache, without a server.
    static func icons(_ path: String) throws -> IconStore {
        try IconStore(
            path: path, memoryLimit: 0, metrics: ServerMetrics(), log: ServerLog { _ in })
    }

    func client(receiveBuffer: Int32? = nil) throws -> RawClient {
        try RawClient(port: port, receiveBuffer: receiveBuffer)
    }

    /// Returns the value of a server metric.
    func metric(_ name: String) throws -> Int? {
        let text = String(decoding: try client().get("/metrics").body, as: UTF8.self)
        return text.split(separator: "\n").first { $0.hasPrefix("larder_server_\(name) ") }
            .flatMap { Int($0.split(separator: " ")[1]) }
    }

    /// Stores contents in the cache at `path`. Creates the cache if it does not exist.
    ///
    /// - Returns: The paths of the objects' files, by URL.
    @discardableResult
    static func fill(
        _ path: String, with contents: [String: [UInt8]], type: String? = "image/png"
    ) throws -> [String: String] {
        let cache = try Cache.create(at: path)
        let store = try cache.store()
        for (url, bytes) in contents {
            let body = try store.newBody { append in try bytes.withUnsafeBytes(append) }
            let staged = try store.stage(
                body, digest: body.finish(), attributes: ObjectAttributes(mediaType: type))
            store.add(
                Deposit(
                    key: url, url: url, validators: Validators(), receivedAt: Date(),
                    content: .staged(staged)),
                for: nil
            ) {}
        }
        store.flush()
        store.close()
        var files: [String: String] = [:]
        for url in contents.keys {
            if let resource = try cache.resource(url) {
                files[url] = cache.absolutePath(of: resource.object.digest)
            }
        }
        cache.close()
        return files
    }
}

/// Runs a server with these contents in its cache, and `body` on its own thread. Stops the server
/// and removes the cache afterwards.
func withServer(
    _ contents: [String: [UInt8]],
    configure: (inout ServerConfiguration, TemporaryDirectory) throws -> Void = { _, _ in },
    _ body: @escaping @Sendable (ServerFixture) throws -> Void
) async throws {
    try await withTemporaryDirectory { directory in
        let cache = directory.path("cache")
        let files = try ServerFixture.fill(cache, with: contents)
        var configuration = ServerConfiguration(cache: cache)
        configuration.port = 0
        try configure(&configuration, directory)
        let server = CacheServer(configuration)
        let url = try await server.start()
        let port = UInt16(url.dropLast().split(separator: ":").last ?? "") ?? 0
        let fixture = ServerFixture(
            server: server, directory: directory, port: port, files: files)
        let result = await Result.of { try await onThreadOfItsOwn { try body(fixture) } }
        await server.stop()
        try result.get()
    }
}

extension Result where Failure == any Error {
    fileprivate static func of(_ body: () async throws -> Success) async -> Self {
        do { return .success(try await body()) } catch { return .failure(error) }
    }
}

/// Returns reproducible bytes that are not an image.
func noise(_ count: Int) -> [UInt8] { noise(count, seed: 1) }
