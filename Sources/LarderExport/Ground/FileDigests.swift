import Foundation
import GRDB
import LarderCache

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
                .rows(identity.text) { try $0.requireDigest(0) }.first
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
