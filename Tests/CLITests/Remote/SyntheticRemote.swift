import Foundation
import LarderCore
import LarderHTTP
import LarderPrefetch
import Synchronization

/// A remote of any size that takes no memory: which names it has is computed when somebody lists
/// them. Each resource has an object of its own; all are as old as wanted.
final class SyntheticRemote: ObjectStore {
    /// Resources in each part, and objects beneath each first byte.
    let each: Int
    /// How many parts, and first bytes, have any.
    let parts: Int
    private let modified: Date
    private let size: Int64
    private let requests = Mutex(CountedStorage.Requests())

    /// - Parameters:
    ///   - resources: how many there would be if all parts had some.
    ///   - size: what it says of each object.
    init(resources: Int, parts: Int = 256, age: TimeInterval, size: Int64 = 1) {
        each = resources / 256
        self.parts = parts
        modified = Date(timeIntervalSinceNow: -age)
        self.size = size
    }

    func takeRequests() -> CountedStorage.Requests {
        requests.withLock { requests in
            defer { requests = .init() }
            return requests
        }
    }

    func subject(_ key: String?) -> String { "s3://synthetic/\(key ?? "")" }

    func get(
        _ key: String, maximumBytes: Int64, into sink: @escaping SinkMaker
    ) async throws -> String? {
        requests.withLock { $0.get += 1 }
        // No bytes have a digest that was made up.
        throw RemoteError(.notFound, subject: subject(key), "none")
    }

    func head(_ key: String) async throws -> ListedObject? {
        requests.withLock { $0.get += 1 }
        return ListedObject(key: key, size: size, modified: modified)
    }

    func put(
        _ key: String, _ body: RequestBody, digest: String, mediaType: String?, metadata: String?
    ) async throws {
        requests.withLock { $0.put += 1 }
    }

    func delete(_ key: String) async throws {
        requests.withLock { $0.delete += 1 }
    }

    func list(_ prefix: String, after last: String?) async throws -> ListPage {
        requests.withLock { $0.list += 1 }
        let names = prefix.split(separator: "/")
        guard
            let byte = names.last(where: { $0.utf8.count == 2 }).flatMap({ UInt8($0, radix: 16) }),
            byte < parts
        else { return ListPage(objects: [], next: nil) }
        let isObjects = names[0] == "objects"
        // One resource alone.
        if let name = names.last.flatMap({ Digest(hex: $0) }) {
            let place = place(of: name, below: nil)
            let isThere = place < each && self.name(place, below: nil) == name
            return ListPage(objects: isThere ? [reference(byte, place)] : [], next: nil)
        }
        var start = 0
        if let last {
            let digest = last.split(separator: "/").first { $0.utf8.count == 64 }
            let name = digest.flatMap { Digest(hex: $0) }
            if let name {
                start = place(of: name, below: isObjects ? byte : nil)
                let isWhole = last.split(separator: "/").count > 3 || isObjects
                if isWhole, start < each, self.name(start, below: isObjects ? byte : nil) == name {
                    start += 1
                }
            }
        }
        let end = min(each, start + 1000)
        let page = (start..<max(start, end)).map { place in
            isObjects
                ? ListedObject(
                    key: RemoteLayout.object(name(place, below: byte)), size: size,
                    modified: modified)
                : reference(byte, place)
        }
        return ListPage(objects: page, next: end < each ? page.last?.key : nil)
    }

    private func reference(_ part: UInt8, _ place: Int) -> ListedObject {
        let key = RemoteLayout.reference(
            ReferenceName(part: part, name: name(place, below: nil)),
            to: name(place, below: part))
        return ListedObject(key: key, size: 300, modified: modified)
    }

    /// The digests in their order: evenly over all, or over those that begin with a byte.
    func name(_ place: Int, below byte: UInt8?) -> Digest {
        let step = UInt64.max / UInt64(each + 1)
        var value = UInt64(place + 1) * step
        if let byte { value = UInt64(byte) << 56 | value >> 8 }
        let bytes = (0..<8).map { UInt8(truncatingIfNeeded: value >> (56 - 8 * UInt64($0))) }
        return Digest(bytes: bytes + [UInt8](repeating: 7, count: 24))!
    }

    /// The place of the first that is not before a digest.
    private func place(of digest: Digest, below byte: UInt8?) -> Int {
        var (low, high) = (0, each)
        while low < high {
            let middle = (low + high) / 2
            if name(middle, below: byte) < digest { low = middle + 1 } else { high = middle }
        }
        return low
    }
}
