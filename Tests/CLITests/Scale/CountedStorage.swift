import Foundation
import LarderS3
import LarderTransfer
import Synchronization

/// A store in memory that counts what is asked of it: how many requests a run makes depends on no
/// server.
final class CountedStorage: ObjectStorage {
    struct Requests: Equatable {
        var put = 0
        /// GET and HEAD, which cost the same.
        var get = 0
        var delete = 0
        var list = 0
    }

    private let state = Mutex(State())

    private struct State {
        var requests = Requests()
        var objects: [String: (bytes: [UInt8], modified: Date)] = [:]
        var age: TimeInterval = 0
    }

    /// What was asked since the last call.
    func takeRequests() -> Requests {
        state.withLock { state in
            defer { state.requests = Requests() }
            return state.requests
        }
    }

    /// Everything was written so many seconds earlier.
    func age(by seconds: TimeInterval) {
        state.withLock { state in
            for key in state.objects.keys {
                state.objects[key]?.modified.addTimeInterval(-seconds)
            }
        }
    }

    func subject(_ key: String?) -> String { "s3://counted/\(key ?? "")" }

    func get(_ key: String, maximumBytes: Int64, into sink: @escaping SinkMaker) async throws {
        let object = state.withLock { state in
            state.requests.get += 1
            return state.objects[key]
        }
        guard let object else { throw StorageError(.notFound, subject: subject(key), "none") }
        let take = try sink {}
        _ = try object.bytes.withUnsafeBytes { try take($0) }
    }

    func head(_ key: String) async throws -> ListedObject? {
        state.withLock { state in
            state.requests.get += 1
            return state.objects[key].map {
                ListedObject(key: key, size: Int64($0.bytes.count), modified: $0.modified)
            }
        }
    }

    func put(_ key: String, _ body: RequestBody, digest: String, mediaType: String?) async throws {
        var bytes = [UInt8](repeating: 0, count: Int(body.count))
        let count = bytes.withUnsafeMutableBytes { body.read(0, $0) }
        guard count == bytes.count || bytes.isEmpty else {
            throw StorageError(.refused, subject: subject(key), "the body could not be read")
        }
        state.withLock { [bytes] state in
            state.requests.put += 1
            state.objects[key] = (bytes, Date())
        }
    }

    func delete(_ key: String) async throws {
        state.withLock { state in
            state.requests.delete += 1
            state.objects[key] = nil
        }
    }

    func list(_ prefix: String, after last: String?) async throws -> ListPage {
        state.withLock { state in
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
