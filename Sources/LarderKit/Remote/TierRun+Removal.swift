import LarderCache

/// How objects are removed while others write: first the object, and then the references to it that
/// were written meanwhile (``SharedTier/keep(_:of:replacing:isThere:)`` does the opposite).
extension TierRun {
    /// Calls `body`, which removes objects, and then removes new references to them.
    ///
    /// - Parameter undone: called for each of those references.
    func removeObjects(
        undone: @escaping @Sendable () -> Void = {}, _ body: () async throws -> Void
    ) async throws {
        var failure: (any Error)?
        do { try await body() } catch { failure = error }
        // Whatever ended it: what was removed may have been referred to meanwhile. As a task of its
        // own, since this one may be cancelled.
        try await Task { try await removeNewReferences(undone) }.value
        if let failure { throw failure }
    }

    /// Removes an object, within ``removeObjects(undone:_:)``.
    func removeObject(_ digest: Digest) async throws {
        // Before, for a request whose answer is lost may have been carried out; and to its end, for
        // one that is cut off may be carried out after we have looked.
        try scratch.set(.removed, of: digest)
        try await Task { try await tier.storage.delete(RemoteLayout.object(digest)) }.value
    }

    /// A reference that was written while its object was removed refers to nothing, unless whoever
    /// wrote it has seen that and put the object back.
    private func removeNewReferences(_ undone: @escaping @Sendable () -> Void) async throws {
        guard try scratch.count(.removed) > 0 else { return }
        try await forEachByte { [self] part in
            try await tier.forEachReference(ofPart: part) { page in
                let states = try scratch.refer(to: page.entries.map(\.known.digest))
                for (reference, state) in zip(page.entries, states) where state == .removed {
                    guard try await !isThere(reference.known.digest) else { continue }
                    try await tier.storage.delete(reference.key)
                    undone()
                }
            }
        }
    }

    /// Whether the remote has an object now.
    func isThere(_ digest: Digest) async throws -> Bool {
        try await tier.storage.head(RemoteLayout.object(digest)) != nil
    }
}
