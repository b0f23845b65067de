import LarderCore

/// Looks for many resources at once in the listings of their parts.
///
/// Both are in the same order, so they are gone through side by side. Where a page of a listing has
/// many that nobody wants, the next one begins at the next that is wanted: there are never more
/// requests than pages, nor than resources.
package struct RemoteLookup: Sendable {
    private let store: RemoteStore
    private let width: Int

    /// Names that are wanted, in ascending order; nil at the end.
    package typealias Wanted = @Sendable () throws -> Digest?
    /// Is told what there is.
    package typealias Find = @Sendable (_ name: Digest, RemoteStore.Known) throws -> Void

    /// - Parameter width: requests at once for resources that are looked for one by one.
    package init(_ store: RemoteStore, width: Int) {
        self.store = store
        self.width = width
    }

    /// Looks for resources of one part.
    package func look(
        in part: UInt8, for next: @escaping Wanted, found: @escaping Find
    ) async throws {
        let prefix = RemoteLayout.references(ofPart: part)
        var candidate = Candidate(found)
        var wanted = try next()
        var last: String?
        while let first = wanted {
            let page = try await store.list(prefix, after: max(last ?? "", prefix + first.hex))
            var passed = 0
            for object in page.objects {
                guard let (reference, digest) = RemoteLayout.reference(object.key) else { continue }
                while let name = wanted, name < reference.name {
                    passed += 1
                    wanted = try next()
                }
                guard wanted == reference.name else { continue }
                try candidate.take(reference.name, .init(digest: digest, modified: object.modified))
            }
            guard let end = page.next else { break }
            last = end
            if passed < 2 {
                // What the page ends with is looked for once more: the next may have more of it.
                if candidate.name != wanted { try candidate.finish() }
                return try await lookForEach(part, from: wanted, next, found)
            }
        }
        try candidate.finish()
    }

    /// Looks for each resource with a request of its own: a page would have a thousand others.
    private func lookForEach(
        _ part: UInt8, from first: Digest?, _ next: Wanted, _ found: @escaping Find
    ) async throws {
        var isFirst = true
        try await forEach(atOnce: width) {
            defer { isFirst = false }
            return try isFirst ? first : next()
        } _: { name in
            try await look(for: ReferenceName(part: part, name: name), found)
        }
    }

    private func look(for name: ReferenceName, _ found: @escaping Find) async throws {
        var candidate = Candidate(found)
        var last: String?
        // More than a few references to one resource are a stranger's doing.
        var pages = 0
        repeat {
            pages += 1
            let page = try await store.list(RemoteLayout.references(to: name), after: last)
            for object in page.objects {
                guard let (_, digest) = RemoteLayout.reference(object.key) else { continue }
                try candidate.take(name.name, .init(digest: digest, modified: object.modified))
            }
            last = page.next
        } while last != nil && pages < 10
        try candidate.finish()
    }

    /// Of several references of one resource, the newest counts: two machines may have written at
    /// once.
    private struct Candidate {
        private let found: Find
        private var best: (name: Digest, known: RemoteStore.Known)?

        init(_ found: @escaping Find) { self.found = found }

        var name: Digest? { best?.name }

        mutating func take(_ name: Digest, _ known: RemoteStore.Known) throws {
            if let best, best.name == name {
                guard
                    (known.modified, known.digest) > (best.known.modified, best.known.digest)
                else { return }
            } else {
                try finish()
            }
            best = (name, known)
        }

        mutating func finish() throws {
            if let best { try found(best.name, best.known) }
            best = nil
        }
    }
}
