import Foundation
import GRDB

/// The rows of what is deposited.
enum DepositRows {
    static func row(of digest: Digest, in db: Database) throws -> Int64? {
        try Int64.fetchOne(
            try db.cachedStatement(sql: "SELECT id FROM objects WHERE digest = ?"),
            arguments: [digest.blob])
    }

    /// The row of an object, made if its bytes are this run's; nil if it was evicted meanwhile.
    static func record(
        _ object: StagedObject, isGone: Bool, in db: Database
    ) throws -> Int64? {
        if let row = try Self.row(of: object.digest, in: db) {
            try describe(object, row: row, in: db)
            return row
        }
        guard object.file != nil, !isGone else { return nil }
        let insert = try db.cachedStatement(
            sql: """
                INSERT INTO objects (digest, size, media_type, width, height, stored_at)
                VALUES (?, ?, ?, ?, ?, ?)
                """)
        try insert.execute(arguments: [
            object.digest.blob, object.size, object.attributes.mediaType, object.attributes.width,
            object.attributes.height, Date().timeIntervalSince1970,
        ])
        return db.lastInsertedRowID
    }

    /// Says what an object is that was adopted from the tree, or stored as any content.
    private static func describe(_ object: StagedObject, row: Int64, in db: Database) throws {
        guard let mediaType = object.attributes.mediaType else { return }
        try db.cachedStatement(
            sql: """
                UPDATE objects SET media_type = ?, width = ?, height = ?
                WHERE id = ? AND media_type IS NULL
                """
        ).execute(arguments: [mediaType, object.attributes.width, object.attributes.height, row])
    }

    static func record(_ deposit: Deposit, object: Int64, in db: Database) throws {
        let validators = deposit.validators
        let expiry = Freshness.expiry(
            of: validators, receivedAt: deposit.receivedAt, delay: deposit.delay)
        let freshUntil = min(expiry, deposit.redirectsFreshUntil ?? expiry)
        let upsert = try db.cachedStatement(
            sql: """
                INSERT INTO resources (key, url, object, etag, last_modified, date, age,
                    cache_control, expires, vary, variant, response_url, received_at, fresh_until)
                VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
                ON CONFLICT (key) DO UPDATE SET
                    url = excluded.url, object = excluded.object, etag = excluded.etag,
                    last_modified = excluded.last_modified, date = excluded.date,
                    age = excluded.age, cache_control = excluded.cache_control,
                    expires = excluded.expires, vary = excluded.vary, variant = excluded.variant,
                    response_url = excluded.response_url, received_at = excluded.received_at,
                    fresh_until = excluded.fresh_until
                """)
        try upsert.execute(arguments: [
            deposit.key, deposit.url == deposit.key ? nil : deposit.url, object, validators.etag,
            validators.lastModified, validators.date, validators.age, validators.cacheControl,
            validators.expires, validators.vary, deposit.variant?.blob,
            deposit.responseURL, deposit.receivedAt.timeIntervalSince1970,
            freshUntil.timeIntervalSince1970,
        ])
    }
}
