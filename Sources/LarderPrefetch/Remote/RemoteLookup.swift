import LarderCore

/// A lookup of sorted names in sorted listings, which are read side by side.
package struct RemoteLookup: Sendable {
    private let store: RemoteStore
    private let width: Int

    /// Returns ascending names after `last`, or an empty array at the end.
    package typealias Wanted = @Sendable (_ last: Digest?) throws -> [Digest]
    package typealias Found = RemoteStore.ListedReference

    package init(_ store: RemoteStore, width: Int) {
        self.store = store
        self.width = width
    }

    package func look(
        in part: UInt8, for next: @escaping Wanted,
        found report: @escaping @Sendable ([Found]) throws -> Void
    ) async throws {
        let prefix = RemoteLayout.references(ofPart: part)
        var names = Pages(next)
        var wanted = try names.next()
        var found: [Found] = []
        var last: String?
        while let first = wanted {
            let page = try await store.list(prefix, after: max(last ?? "", prefix + first.hex))
            var passed = 0
            for reference in page.objects.compactMap(Found.init) {
                while let name = wanted, name < reference.name.name {
                    passed += 1
                    wanted = try names.next()
                }
                if wanted == reference.name.name { add(reference, to: &found) }
            }
            guard let end = page.next else { break }
            last = end
            if passed < 2 {
                // The next page may have more references with this name.
                if let wanted, found.last?.name.name == wanted { found.removeLast() }
                try report(found)
                return try await lookForEach(part, from: wanted, names, report)
            }
            try report(Array(found.dropLast()))
            found.removeFirst(max(0, found.count - 1))
        }
        try report(found)
    }

    /// Sends a request for each name, because a page would have a thousand unwanted names.
    private func lookForEach(
        _ part: UInt8, from first: Digest?, _ names: Pages<Digest>,
        _ report: @escaping @Sendable ([Found]) throws -> Void
    ) async throws {
        var (next, rest) = (first, names)
        try await forEach(atOnce: width) {
            defer { next = nil }
            return try next ?? rest.next()
        } _: { name in
            try await report(look(for: ReferenceName(part: part, name: name)))
        }
    }

    private func look(for name: ReferenceName) async throws -> [Found] {
        var found: [Found] = []
        var last: String?
        // Ten pages are enough, because Larder writes few references to one resource.
        for _ in 0..<10 {
            let page = try await store.list(RemoteLayout.references(to: name), after: last)
            for reference in page.objects.compactMap(Found.init) { add(reference, to: &found) }
            last = page.next
            if last == nil { break }
        }
        return found
    }

    /// Keeps only the newest reference to a resource. Two machines may write at the same time.
    private func add(_ new: Found, to found: inout [Found]) {
        guard let last = found.last, last.name == new.name else { return found.append(new) }
        if (new.known.modified, new.known.digest) > (last.known.modified, last.known.digest) {
            found[found.count - 1] = new
        }
    }
}
