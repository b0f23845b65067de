import Foundation
import Synchronization

@testable import LarderHTTP

/// An in-memory object store that counts requests, so that the counts do not depend on a server.
final class CountedStorage: ObjectStore {
    struct Requests: Equatable {
        var put = 0
        /// GET and HEAD, which cost the same.
        var get = 0
        var delete = 0
        var list = 0
    }

    private let state = Mutex(State())

    /// Runs before a request, with its method and the object's name.
    typealias Hook = @Sendable (_ method: String, _ key: String) async throws -> Void

    private struct State {
        var hook: Hook?
        var requests = Requests()
        var objects: [String: (bytes: [UInt8], modified: Date, metadata: String?)] = [:]
    }

    /// Returns the requests since the last call and resets the counts.
    func takeRequests() -> Requests {
        state.withLock { state in
            defer { state.requests = Requests() }
            return state.requests
        }
    }

    func before(_ hook: Hook?) { state.withLock { $0.hook = hook } }

    private func begin(_ method: String, _ key: String) async throws {
        // Requests that the hook makes itself do not call it again.
        guard !Self.isInHook, let hook = state.withLock({ $0.hook }) else { return }
        try await Self.$isInHook.withValue(true) { try await hook(method, key) }
    }

    @TaskLocal private static var isInHook = false

    var keys: [String] { state.withLock { $0.objects.keys.sorted() } }

    /// Whether the objects of all references exist.
    var isConsistent: Bool {
        let keys = Set(keys)
        return keys.filter { $0.hasPrefix("refs/") }.allSatisfy { key in
            let digest = key.suffix(64)
            return keys.contains("objects/sha256/\(digest.prefix(2))/\(digest)")
        }
    }

    /// Makes all objects this many seconds older.
    func age(by seconds: TimeInterval) {
        state.withLock { state in
            for key in state.objects.keys {
                state.objects[key]?.modified.addTimeInterval(-seconds)
            }
        }
    }

    /// Removes the metadata of all objects. Older versions of larder wrote none.
    func forgetMetadata() {
        state.withLock { state in
            for key in state.objects.keys { state.objects[key]?.metadata = nil }
        }
    }

    var metadata: [String] { state.withLock { $0.objects.values.compactMap(\.metadata) } }

    func subject(_ key: String?) -> String { "s3://counted/\(key ?? "")" }

    @discardableResult
    func get(
        _ key: String, maximumBytes: Int64, into sink: @escaping SinkMaker
    ) async throws -> String? {
        try await begin("GET", key)
        let object = state.withLock { state in
            state.requests.get += 1
            return state.objects[key]
        }
        guard let object else { throw RemoteError(.notFound, subject: subject(key), "none") }
        let take = try sink {}
        _ = try object.bytes.withUnsafeBytes { try take($0) }
        return object.metadata
    }

    func head(_ key: String) async throws -> ListedObject? {
        try await begin("HEAD", key)
        return state.withLock { state in
            state.requests.get += 1
            return state.objects[key].map {
                ListedObject(key: key, size: Int64($0.bytes.count), modified: $0.modified)
            }
        }
    }

    func put(
        _ key: String, _ body: RequestBody, digest: String, mediaType: String?, metadata: String?
    ) async throws {
        try await begin("PUT", key)
        var bytes = [UInt8](repeating: 0, count: Int(body.count))
        let count = bytes.withUnsafeMutableBytes { body.read(0, $0) }
        guard count == bytes.count || bytes.isEmpty else {
            throw RemoteError(.refused, subject: subject(key), "the body could not be read")
        }
        state.withLock { [bytes] state in
            state.requests.put += 1
            state.objects[key] = (bytes, Date(), metadata)
        }
    }

    func delete(_ key: String) async throws {
        try await begin("DELETE", key)
        state.withLock { state in
            state.requests.delete += 1
            state.objects[key] = nil
        }
    }

    func list(_ prefix: String, after last: String?) async throws -> ListPage {
        try await begin("LIST", prefix)
        return state.withLock { state in
            state.requests.list += 1
            let keys = state.objects.keys.filter { $0.hasPrefix(prefix) && $0 > last ?? "" }
                .sorted()
            let page = keys.prefix(1000).compactMap { key in
                state.objects[key].map {
                    ListedObject(key: key, size: Int64($0.bytes.count), modified: $0.modified)
                }
            }
            return ListPage(objects: page, next: keys.count > 1000 ? page.last?.key : nil)
        }
    }
}
