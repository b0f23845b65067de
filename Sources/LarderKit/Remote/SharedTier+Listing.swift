import LarderCache
import LarderS3

extension SharedTier {
    /// A reference as a listing has it.
    struct ListedReference: Sendable {
        let name: ReferenceName
        let known: Known
        var key: String { RemoteLayout.reference(name, to: known.digest) }
    }

    /// The objects whose digests begin with a byte, page by page.
    ///
    /// - Parameter foreign: is told the names that are not those of objects.
    func forEachObject(
        beginningWith byte: UInt8, foreign: (String) -> Void = { _ in },
        _ body: ([(digest: Digest, listed: ListedObject)]) async throws -> Void
    ) async throws {
        try await forEachPage(RemoteLayout.objects(beginningWith: byte)) { objects in
            try await body(
                objects.compactMap { object in
                    guard let digest = RemoteLayout.digest(ofObject: object.key) else {
                        foreign(object.key)
                        return nil
                    }
                    return (digest, object)
                })
        }
    }

    /// The references of a part, page by page.
    func forEachReference(
        ofPart part: UInt8, _ body: ([ListedReference]) async throws -> Void
    ) async throws {
        try await forEachPage(RemoteLayout.references(ofPart: part)) { objects in
            try await body(
                objects.compactMap { object in
                    RemoteLayout.reference(object.key).map { name, digest in
                        ListedReference(
                            name: name, known: Known(digest: digest, modified: object.modified))
                    }
                })
        }
    }

    private func forEachPage(
        _ prefix: String, _ body: ([ListedObject]) async throws -> Void
    ) async throws {
        var last: String?
        repeat {
            let page = try await storage.list(prefix, after: last)
            if !page.objects.isEmpty { try await body(page.objects) }
            last = page.next
        } while last != nil
    }
}

extension Int64 {
    /// Adds a size that a store tells, which may be anything.
    mutating func addForeign(_ size: Int64) {
        let (sum, isTooLarge) = addingReportingOverflow(size)
        self = isTooLarge ? .max : sum
    }
}
