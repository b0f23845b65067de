import LarderCore

extension RemoteStore {
    /// Looks up sorted names in sorted listings, which are read side by side. Reports only the
    /// newest reference to each resource.
    ///
    /// - Parameter next: Returns ascending names after `last`, or an empty array at the end.
    package func look(
        in part: UInt8, atOnce width: Int, for next: @escaping (_ last: Digest?) throws -> [Digest],
        found report: @escaping @Sendable ([ListedReference]) throws -> Void
    ) async throws {
        let prefix = RemoteLayout.references(ofPart: part)
        var names = Pages(next)
        var wanted = try names.next()
        var found: [ListedReference] = []
        var last: String?
        while let first = wanted {
            let page = try await list(prefix, after: max(last ?? "", prefix + first.hex))
            var passed = 0
            for reference in page.objects.compactMap(ListedReference.init) {
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
                // Sends a request for each name, because a page would have a thousand others.
                return try await forEach(atOnce: width) {
                    defer { wanted = nil }
                    return try wanted ?? names.next()
                } _: { [self] name in
                    try await report(look(for: ReferenceName(part: part, name: name)))
                }
            }
            try report(Array(found.dropLast()))
            found.removeFirst(max(0, found.count - 1))
        }
        try report(found)
    }

    private func look(for name: ReferenceName) async throws -> [ListedReference] {
        var found: [ListedReference] = []
        var last: String?
        // Ten pages are enough, because Larder writes few references to one resource.
        for _ in 0..<10 {
            let page = try await list(RemoteLayout.references(to: name), after: last)
            for reference in page.objects.compactMap(ListedReference.init) {
                add(reference, to: &found)
            }
            last = page.next
            if last == nil { break }
        }
        return found
    }

    /// Replaces an older reference to the same resource. Two machines may write at the same time.
    private func add(_ new: ListedReference, to found: inout [ListedReference]) {
        guard let last = found.last, last.name == new.name else { return found.append(new) }
        if (new.known.modified, new.known.digest) > (last.known.modified, last.known.digest) {
            found[found.count - 1] = new
        }
    }
}
