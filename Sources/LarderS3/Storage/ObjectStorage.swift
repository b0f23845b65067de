import LarderTransfer

/// A store of objects by name, as S3 has it: all that a shared tier needs of one.
///
/// Names are in the order of their bytes. What was written is seen by every request that begins
/// after the write has ended, listings too (as S3 has it since December 2020, Ceph always).
package protocol ObjectStorage: Sendable {
    /// How messages name an object, or all of the store.
    func subject(_ key: String?) -> String

    /// Receives an object.
    ///
    /// - Parameters:
    ///   - maximumBytes: a longer one is refused.
    ///   - sink: makes what takes the bytes, for each attempt anew.
    /// - Throws: ``StorageError``, ``StorageError/Code-swift.enum/notFound`` if there is none; what
    ///   the sink throws; `CancellationError`.
    func get(_ key: String, maximumBytes: Int64, into sink: @escaping SinkMaker) async throws

    /// What is known of an object; nil if there is none.
    func head(_ key: String) async throws -> ListedObject?

    /// Writes an object, in place of one of that name.
    ///
    /// - Parameters:
    ///   - digest: the SHA-256 of the bytes, in hexadecimal: the store refuses others.
    ///   - mediaType: told to who reads the object without larder. Default: nil.
    func put(
        _ key: String, _ body: RequestBody, digest: String, mediaType: String?
    ) async throws

    /// Removes an object; no error if there is none.
    func delete(_ key: String) async throws

    /// A page of the objects whose names begin with `prefix`, in the order of their names.
    ///
    /// - Parameter last: the names after this one; default: nil, from the first on.
    func list(_ prefix: String, after last: String?) async throws -> ListPage
}

/// Takes received bytes, and says whether it did: if not, the same come again once `resume`, which
/// it was made with, is called.
package typealias ByteSink = @Sendable (_ bytes: UnsafeRawBufferPointer) throws -> Bool
package typealias SinkMaker =
    @Sendable (_ resume: @escaping @Sendable () -> Void) throws -> ByteSink

extension ObjectStorage {
    /// Receives a small object into memory.
    package func bytes(_ key: String, maximumBytes: Int64) async throws -> [UInt8] {
        let collected = CollectedBytes()
        try await get(key, maximumBytes: maximumBytes) { _ in
            collected.clear()
            return { bytes in
                collected.append(bytes)
                return true
            }
        }
        return collected.bytes
    }
}
