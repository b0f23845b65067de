import Foundation

/// A content-addressed cache directory: objects named by their SHA-256 digests, and an index of
/// the URLs that resolve to them.
///
/// Confined to its root, relocatable, disposable (deleting any of it costs downloads, never
/// correctness), and shared by any number of processes at once.
public final class Cache: Sendable {
    private let directory: CacheDirectory
    private let index: CacheIndex?

    /// Whether it can only be read: its medium, its permissions or a full disk allow no more.
    public let isReadOnly: Bool

    private init(directory: CacheDirectory, index: CacheIndex?, isReadOnly: Bool = false) {
        self.directory = directory
        self.index = index
        self.isReadOnly = isReadOnly
    }

    /// Opens the cache at `path` for reading and writing; makes it first where there is none.
    ///
    /// - Throws: ``CacheError``, also where the directory cannot be written.
    public static func create(at path: String) throws(CacheError) -> Cache {
        let directory = try CacheDirectory(path: path, create: true)
        return Cache(directory: directory, index: try CacheIndex(of: directory))
    }

    /// Opens the cache at `path` for reading. A directory without an index reads as empty; one
    /// that cannot be written, or whose disk is full, is read without a trace.
    ///
    /// - Throws: ``CacheError``, `.missing` where there is no such directory.
    public static func open(at path: String) throws(CacheError) -> Cache {
        let directory = try CacheDirectory(path: path, create: false)
        guard directory.isWritable else {
            return Cache(
                directory: directory, index: try CacheIndex(readOnly: directory), isReadOnly: true)
        }
        guard try directory.root.status(of: CacheLayout.index) != nil else {
            return Cache(directory: directory, index: nil)
        }
        do {
            return Cache(directory: directory, index: try CacheIndex(of: directory))
        } catch  where error.code == .storage {
            // SQLite wants room for a log even to read; a cache is not to be lost for that.
            guard let index = try? CacheIndex(readOnly: directory) else { throw error }
            return Cache(directory: directory, index: index, isReadOnly: true)
        }
    }

    /// The root's absolute path.
    public var path: String { directory.path }

    /// The index as a URI for SQLite, to be joined with; nil where there is none.
    package var indexURI: String? { index?.uri }

    /// Starts a run that stores, with a directory of its own beneath `tmp/`.
    ///
    /// - Throws: ``CacheError`` `.unusable` where the cache cannot be written.
    public func store() throws(CacheError) -> Store {
        guard let index, !isReadOnly else {
            throw CacheError(.unusable, subject: path, message: "the cache is read-only")
        }
        return try Store(directory: directory, index: index)
    }

    /// Ends the use of the index, whoever else still holds this cache: without other processes it is
    /// one file from now on, and may be copied. Everything that follows fails.
    public func close() { index?.close() }

    /// The resource of a URL (in canonical spelling) or manifest key; nil if it is not cached.
    public func resource(_ key: String) throws(CacheError) -> Resource? {
        try index?.resource(key)
    }

    /// Every resource in the order of its key.
    public func forEachResource(_ body: (Resource) throws -> Void) throws {
        try index?.forEachResource(body)
    }

    /// The absolute path of an object's file.
    public func absolutePath(of digest: Digest) -> String {
        "\(directory.path)/\(CacheLayout.path(digest))"
    }

    /// Whether an object's file is there and has the size that the index states. Reads no byte.
    public func isPresent(_ digest: Digest, size: Int64) throws(CacheError) -> Bool {
        try directory.size(of: digest) == size
    }

    /// The bytes of an object, checked against its digest before they are handed out.
    ///
    /// - Throws: ``CacheError`` `.corrupt` where they are gone or are other bytes.
    public func bytes(of object: StoredObject) throws(CacheError) -> [UInt8] {
        let subject = "\(object.digest)"
        let file = try directory.open(object.digest)
        guard try file.status(subject: subject).st_size == object.size else {
            throw CacheError(.corrupt, subject: subject, message: "the file has another size")
        }
        var bytes = [UInt8](repeating: 0, count: Int(object.size))
        let digest = try ObjectReader.digest(file, subject: subject, into: &bytes)
        guard digest == object.digest else {
            throw CacheError(.corrupt, subject: subject, message: "the bytes have another digest")
        }
        return bytes
    }

    /// What the cache holds.
    public func status() throws(CacheError) -> CacheStatus {
        try CacheStatus(of: directory, index: index)
    }

    /// Re-reads every object and checks every row; changes nothing.
    ///
    /// - Parameter onProgress: called now and then, from any thread, with the objects read so far.
    public func verify(
        onProgress: @escaping @Sendable (_ objects: Int, _ of: Int) -> Void = { _, _ in }
    ) throws(CacheError) -> VerifyReport {
        try Verifier(directory: directory, index: index, onProgress: onProgress).run()
    }
}
