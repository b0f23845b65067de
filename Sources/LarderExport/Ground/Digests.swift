import Foundation
import GRDB
import LarderCache
import LarderCore

extension String {
    /// Whether it is that many hexadecimal digits in lower case.
    func isHex(_ count: Int) -> Bool { utf8.count == count && utf8.allSatisfy(\.isLowerHex) }
}

extension UInt8 {
    fileprivate var isLowerHex: Bool { isDigit || 0x61...0x66 ~= self }
}

/// Tells one directory of files from another, in whatever order the file system lists them.
struct Fingerprint {
    private var sum = [UInt8](repeating: 0, count: Digest.byteCount)

    /// That of the files in a directory, those beneath it and hidden ones left out.
    ///
    /// - Returns: nil if it was ended.
    /// - Throws: ``CacheError``, `.unusable` if one is a sparse file, which would take too long.
    static func of(
        _ directory: String, isCancelled: () -> Bool
    ) throws -> Digest? {
        let directory = try UsersPath(directory).directory()
        let digests = FileDigests()
        var fingerprint = Fingerprint()
        var isEnded = false
        var failure: (any Error)?
        try directory.forEachName { name in
            guard !isEnded, failure == nil, name.utf8.first != UInt8(ascii: ".") else { return }
            do {
                guard let status = try directory.status(of: name), status.isRegularFile else {
                    return
                }
                guard status.st_size <= status.plausibleBytes else {
                    throw CacheError(
                        .unusable, subject: directory.path(of: name),
                        message: "is a sparse file, which no export has made; remove it")
                }
                let digest = try digests.digest(
                    of: directory.file(name), isCancelled: isCancelled)
                isEnded = digest == nil || isCancelled()
                if let digest { fingerprint.add(name, digest) }
            } catch {
                failure = error
            }
        }
        if let failure { throw failure }
        return isEnded ? nil : fingerprint.digest
    }

    private mutating func add(_ name: String, _ digest: Digest) {
        let file = Digest(of: Array("\(digest.hex) \(name)".utf8))
        for (index, byte) in file.bytes.enumerated() { sum[index] ^= byte }
    }

    private var digest: Digest { Digest(of: sum) }
}

/// The digests of files in a foreign directory. Each file is read once, even if it has many names:
/// hard links cost their owner nothing.
final class FileDigests {
    /// The maximum number of digests in memory. Older ones are in a temporary database.
    private static let memoryLimit = 4096

    private let reader = ObjectReader()
    private var recent: [FileIdentity: Digest] = [:]
    private var database: DatabaseQueue?

    /// Returns the digest of a file's bytes, or nil if reading was cancelled.
    ///
    /// - Parameter file: A regular file that has not been read yet.
    func digest(of file: FileDescriptor, isCancelled: () -> Bool) throws -> Digest? {
        let identity = FileIdentity(try file.status())
        if let known = try recent[identity] ?? stored(identity) { return known }
        guard let read = try reader.digest(file, isCancelled: isCancelled) else { return nil }
        if recent.count >= Self.memoryLimit { try store() }
        recent[identity] = read.digest
        return read.digest
    }

    private func stored(_ identity: FileIdentity) throws -> Digest? {
        try database?.read { db in
            try PreparedStatement(db, "SELECT digest FROM digests WHERE file = ?")
                .rows(identity.text) { try $0.requireDigest() }.first
        }
    }

    private func store() throws {
        let database = try self.database ?? Cache.scratchDatabase(at: nil, beside: nil)
        try database.inTransaction { db in
            try db.execute(
                sql: """
                    PRAGMA main.cache_size = -2048;
                    CREATE TABLE IF NOT EXISTS main.digests (
                        file TEXT PRIMARY KEY, digest BLOB NOT NULL
                    ) WITHOUT ROWID;
                    """)
            let insert = try PreparedStatement(db, "INSERT OR REPLACE INTO digests VALUES (?, ?)")
            for (identity, digest) in recent { try insert.run(identity.text, digest) }
            return .commit
        }
        self.database = database
        recent.removeAll(keepingCapacity: true)
    }
}
