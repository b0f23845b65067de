import Foundation
import LarderCore
import LarderPrefetch
import Synchronization

@testable import LarderHTTP

/// A remote of any size that takes no memory, because its names are computed for each listing.
/// Resources do not share objects, and all references and objects have the same age.
final class SyntheticRemote: ObjectStore {
    /// The number of resources in each part, and of objects with each first byte.
    let resourcesPerPart: Int
    /// The number of parts, and of first bytes, that are not empty.
    let parts: Int
    private let modified: Date
    private let size: Int64
    private let requests = Mutex(CountedStorage.Requests())

    /// - Parameters:
    ///   - resources: The number of resources if no part were empty.
    ///   - size: The listed size of each object.
    init(resources: Int, parts: Int = 256, age: TimeInterval, size: Int64 = 1) {
        resourcesPerPart = resources / 256
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
        // The digests are invented, so no bytes match them.
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
        // The prefix of a single resource.
        if let name = names.last.flatMap({ Digest(hex: $0) }) {
            let place = place(of: name, below: nil)
            let exists = place < resourcesPerPart && self.name(place, below: nil) == name
            return ListPage(objects: exists ? [reference(byte, place)] : [], next: nil)
        }
        var start = 0
        if let last {
            let digest = last.split(separator: "/").first { $0.utf8.count == 64 }
            let name = digest.flatMap { Digest(hex: $0) }
            if let name {
                start = place(of: name, below: isObjects ? byte : nil)
                let isWhole = last.split(separator: "/").count > 3 || isObjects
                if isWhole, start < resourcesPerPart,
                    self.name(start, below: isObjects ? byte : nil) == name
                {
                    start += 1
                }
            }
        }
        let end = min(resourcesPerPart, start + 1000)
        let page = (start..<max(start, end)).map { place in
            isObjects
                ? ListedObject(
                    key: RemoteLayout.object(name(place, below: byte)), size: size,
                    modified: modified)
                : reference(byte, place)
        }
        return ListPage(objects: page, next: end < resourcesPerPart ? page.last?.key : nil)
    }

    private func reference(_ part: UInt8, _ place: Int) -> ListedObject {
        let key = RemoteLayout.reference(
            ReferenceName(part: part, name: name(place, below: nil)),
            to: name(place, below: part))
        return ListedObject(key: key, size: 300, modified: modified)
    }

    /// The digest at a place. Digests are spread evenly, over all values or over the values
    /// that begin with `byte`.
    func name(_ place: Int, below byte: UInt8?) -> Digest {
        let step = UInt64.max / UInt64(resourcesPerPart + 1)
        var value = UInt64(place + 1) * step
        if let byte { value = UInt64(byte) << 56 | value >> 8 }
        let bytes = (0..<8).map { UInt8(truncatingIfNeeded: value >> (56 - 8 * UInt64($0))) }
        return Digest(bytes: bytes + [UInt8](repeating: 7, count: 24))!
    }

    /// The place of the first digest that is not less than `digest`.
    private func place(of digest: Digest, below byte: UInt8?) -> Int {
        var (low, high) = (0, resourcesPerPart)
        while low < high {
            let middle = (low + high) / 2
            if name(middle, below: byte) < digest { low = middle + 1 } else { high = middle }
        }
        return low
    }
}
