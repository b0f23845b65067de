import LarderCore

/// Looks many resources up in the listings of their parts. Names and listings are sorted, so both
/// are read side by side. If a page has many unwanted names, the next page starts at the next
/// wanted name. There are never more requests than pages or resources.
package struct RemoteLookup: Sendable {
    private let store: RemoteStore
    private let width: Int

    /// Names that are wanted, in ascending order; nil at the end.
    package typealias Wanted = @Sendable () throws -> Digest?
    package typealias Find = @Sendable (_ name: Digest, RemoteStore.Known) throws -> Void

    package init(_ store: RemoteStore, width: Int) {
        self.store = store
        self.width = width
    }

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
                // The last name is looked up again: the next page may have more of it.
                if candidate.name != wanted { try candidate.finish() }
                return try await lookForEach(part, from: wanted, next, found)
            }
        }
        try candidate.finish()
    }

    /// Looks each resource up with its own request, since a page would have a thousand others.
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
        // Larder does not write more than a few references to one resource.
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

    /// The newest reference of one resource: two machines may have written at once.
    private struct Candidate {
        private let found: Find
        private var best: (name: Digest, known: RemoteStore.Known)?

        init(_ found: @escaping Find) { self.found = found }

        var name: Digest? { best?.name }

        mutating func take(_ name: Digest, _ known: RemoteStore.Known) throws {
            if let best, best.name == name {
                guard (known.modified, known.digest) > (best.known.modified, best.known.digest)
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
