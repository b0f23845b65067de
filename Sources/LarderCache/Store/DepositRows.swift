import Foundation
import GRDB
import LarderCore

struct DepositRows {
    private let find: PreparedStatement
    private let insert: PreparedStatement
    private let touch: PreparedStatement
    private let describe: PreparedStatement
    private let add: PreparedStatement
    private let renew: PreparedStatement
    private let move: PreparedStatement
    /// The statement that unmarks damaged resources. Nil if the index lists none.
    private let mend: PreparedStatement?
    private let db: Database

    init(_ db: Database) throws {
        self.db = db
        find = try db.prepared("SELECT id FROM objects WHERE digest = ?")
        insert = try db.prepared(
            """
            INSERT INTO objects (digest, size, media_type, width, height, stored_at, used_at)
            VALUES (?, ?, ?, ?, ?, ?, ?)
            """)
        // The time of use never decreases, because a wrong clock could cause an eviction. It always
        // changes, so that an eviction in progress notices the use.
        touch = try db.prepared(
            """
            UPDATE objects SET used_at = CASE WHEN ?1 >= used_at THEN ?1 ELSE used_at + 0.001 END
            WHERE id = ?2
            """)
        describe = try db.prepared(
            """
            UPDATE objects SET media_type = ?, width = ?, height = ?
            WHERE id = ? AND media_type IS NULL
            """)
        // For a DO UPDATE, which could change a foreign key, SQLite would allocate 64 KB each time.
        add = try db.prepared(
            """
            INSERT INTO resources (key, url, object, etag, last_modified, date, age,
                cache_control, expires, vary, variant, response_url, received_at, fresh_until)
            VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
            ON CONFLICT (key) DO NOTHING
            """)
        renew = try db.prepared(
            """
            UPDATE resources SET url = ?2, etag = ?4, last_modified = ?5, date = ?6, age = ?7,
                cache_control = ?8, expires = ?9, vary = ?10, variant = ?11, response_url = ?12,
                received_at = ?13, fresh_until = ?14
            WHERE key = ?1 AND object = ?3
            """)
        let isAnyDamaged = try db.prepared("SELECT 1 FROM damaged LIMIT 1").firstInteger() != nil
        mend = isAnyDamaged ? try db.prepared("DELETE FROM damaged WHERE key = ?") : nil
        move = try db.prepared("UPDATE resources SET object = ? WHERE key = ?")
    }

    /// Records a use. Returns the object's row, or nil if it was evicted.
    func use(_ digest: Digest, at instant: Date) throws -> Int64? {
        guard let row = try find.firstInteger(digest) else { return nil }
        try touch.run(instant.timeIntervalSince1970, row)
        return row
    }

    func record(_ object: StagedObject, isGone: Bool, at instant: Date) throws -> Int64? {
        let attributes = object.attributes
        if let row = try use(object.digest, at: instant) {
            // The row lacks attributes if a rebuild added it or the object was not stored as an
            // image.
            if let mediaType = attributes.mediaType {
                try describe.run(mediaType, attributes.width, attributes.height, row)
            }
            return row
        }
        guard object.file != nil, !isGone else { return nil }
        try insert.run(
            object.digest, object.size, attributes.mediaType, attributes.width, attributes.height,
            Date().timeIntervalSince1970, instant.timeIntervalSince1970)
        return db.lastInsertedRowID
    }

    func record(_ deposit: Deposit, object: Int64) throws {
        try mend?.run(deposit.key)
        let validators = deposit.validators
        let expiry = Freshness.expiry(
            of: validators, receivedAt: deposit.receivedAt, delay: deposit.delay)
        let freshUntil = min(expiry, deposit.redirectsFreshUntil ?? expiry)
        func ran(_ statement: PreparedStatement) throws -> Bool {
            try statement.run(
                deposit.key, deposit.url == deposit.key ? nil : deposit.url, object,
                validators.etag, validators.lastModified, validators.date, validators.age,
                validators.cacheControl, validators.expires, validators.vary, deposit.variant,
                deposit.responseURL, deposit.receivedAt.timeIntervalSince1970,
                freshUntil.timeIntervalSince1970)
            return db.changesCount > 0
        }
        // Renewal is tried first, because an unchanged resource most likely has this object.
        if case .unchanged = deposit.content, try ran(renew) { return }
        if try ran(add) || ran(renew) { return }
        try move.run(object, deposit.key)
        _ = try ran(renew)
    }
}

extension RunDirectory {
    /// Moves staged files into place. Returns the errors of obstructed files.
    func publish(
        _ files: [Digest: String], in cache: CacheDirectory
    ) throws(CacheError) -> [Digest: CacheError] {
        let objects = try cache.objects(create: true)
        var obstructions: [Digest: CacheError] = [:]
        for (name, group) in Dictionary(grouping: files, by: { CacheLayout.fanOut($0.key) }) {
            let made = try objects.makeDirectory(name)
            do throws(CacheError) {
                let fanOut = if let made { made } else { try objects.directory(name) }
                for (digest, file) in group {
                    do throws(CacheError) {
                        try directory.rename(file, to: fanOut, as: digest.hex)
                    } catch {
                        guard let obstruction = error.obstruction else { throw error }
                        obstructions[digest] = obstruction
                    }
                }
                try Durability.add(fanOut)
            } catch {
                guard let obstruction = error.obstruction else { throw error }
                for digest in group.map(\.key) { obstructions[digest] = obstruction }
            }
        }
        try Durability.add(objects)
        return obstructions
    }
}
