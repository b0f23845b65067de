import Foundation
import GRDB
import LarderCore

/// The rows of one batch of deposits, written in one transaction.
struct DepositRows {
    private let db: Database
    // Prepared once for all deposits, because looking up a statement takes time.
    private let find, insert, touch, add, renew: PreparedStatement
    private let hasDamaged: Bool
    private var hasFailures: Bool
    private(set) var addedFailures = (rows: 0, bytes: 0)
    private(set) var evicted: [Digest] = []

    init(_ db: Database) throws {
        self.db = db
        hasDamaged = try db.prepared("SELECT 1 FROM damaged LIMIT 1").firstInteger() != nil
        hasFailures = try db.prepared("SELECT 1 FROM failures LIMIT 1").firstInteger() != nil
        find = try db.prepared("SELECT id FROM objects WHERE digest = ?")
        insert = try db.prepared(
            """
            INSERT INTO objects (digest, size, media_type, width, height, stored_at, used_at)
            VALUES (?, ?, ?, ?, ?, ?, ?)
            ON CONFLICT (digest) DO NOTHING
            """)
        // The time of use never decreases, because a wrong clock could cause an eviction. It always
        // changes, so that an eviction in progress notices the use.
        touch = try db.prepared(
            """
            UPDATE objects SET used_at = CASE WHEN ?1 >= used_at THEN ?1 ELSE used_at + 0.001 END
            WHERE id = ?2
            """)
        // DO UPDATE could change a foreign key, so SQLite would allocate 64 KB for it each time.
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
    }

    mutating func record(
        _ deposit: Deposit, vanished: Set<Digest>
    ) throws -> Result<Digest?, CacheError> {
        let row: Int64?
        let digest: Digest
        switch deposit.content {
        case .staged(let object):
            digest = object.digest
            row = try record(object, isGone: vanished.contains(digest), at: deposit.receivedAt)
        case .unchanged(let known), .kept(let known):
            digest = known
            row = try use(known, at: deposit.receivedAt)
        case .unstored:
            try removeFailure(deposit.key)
            return .success(nil)
        case .failed(let code, let status):
            try addFailure(deposit, code, status)
            return .success(nil)
        }
        guard let row else {
            evicted.append(digest)
            let message = "was evicted by another process at the same time"
            return .failure(CacheError(.missing, subject: "\(digest)", message: message))
        }
        try removeFailure(deposit.key)
        if case .kept = deposit.content { return .success(digest) }
        try record(deposit, object: row)
        return .success(digest)
    }

    private mutating func addFailure(_ deposit: Deposit, _ code: String, _ status: Int?) throws {
        let (key, url) = (deposit.key, deposit.url)
        hasFailures = true
        try db.prepared(
            """
            INSERT INTO failures (key, url, code, status, failed_at, count)
            VALUES (?, ?, ?, ?, ?, 1)
            ON CONFLICT (key) DO UPDATE SET
                url = excluded.url, code = excluded.code, status = excluded.status,
                failed_at = excluded.failed_at, count = min(count, 1000000) + 1
            """
        ).run(key, url == key ? nil : url, code, status, deposit.receivedAt.timeIntervalSince1970)
        addedFailures.rows += 1
        addedFailures.bytes += key.utf8.count + url.utf8.count
    }

    private func removeFailure(_ key: String) throws {
        if hasFailures { try db.prepared("DELETE FROM failures WHERE key = ?").run(key) }
    }

    private func use(_ digest: Digest, at instant: Date) throws -> Int64? {
        guard let row = try find.firstInteger(digest) else { return nil }
        try touch.run(instant.timeIntervalSince1970, row)
        return row
    }

    private func record(_ object: StagedObject, isGone: Bool, at instant: Date) throws -> Int64? {
        let attributes = object.attributes
        // Tried first, because an object with a new file is most likely new.
        if object.file != nil, !isGone {
            try insert.run(
                object.digest, object.size, attributes.mediaType, attributes.width,
                attributes.height, Date().timeIntervalSince1970, instant.timeIntervalSince1970)
            if db.changesCount > 0 { return db.lastInsertedRowID }
        }
        guard let row = try use(object.digest, at: instant) else { return nil }
        // A rebuild adds rows without attributes.
        if let mediaType = attributes.mediaType {
            try db.prepared(
                """
                UPDATE objects SET media_type = ?, width = ?, height = ?
                WHERE id = ? AND media_type IS NULL
                """
            ).run(mediaType, attributes.width, attributes.height, row)
        }
        return row
    }

    private func record(_ deposit: Deposit, object: Int64) throws {
        if hasDamaged { try db.prepared("DELETE FROM damaged WHERE key = ?").run(deposit.key) }
        let validators = deposit.validators
        let expiry = Freshness.expiry(
            of: validators, receivedAt: deposit.receivedAt, delay: deposit.delay)
        let freshUntil = min(expiry, deposit.redirectsFreshUntil ?? expiry)
        func ran(_ statement: PreparedStatement) throws -> Bool {
            try statement.run { row in
                row.bind(deposit.key)
                row.bind(deposit.url == deposit.key ? nil : deposit.url)
                row.bind(object)
                row.bind(validators.etag)
                row.bind(validators.lastModified)
                row.bind(validators.date)
                row.bind(validators.age)
                row.bind(validators.cacheControl)
                row.bind(validators.expires)
                row.bind(validators.vary)
                row.bind(deposit.variant)
                row.bind(deposit.responseURL)
                row.bind(deposit.receivedAt.timeIntervalSince1970)
                row.bind(freshUntil.timeIntervalSince1970)
            }
            return db.changesCount > 0
        }
        // Renewal is tried first, because an unchanged resource most likely has this object.
        if case .unchanged = deposit.content, try ran(renew) { return }
        if try ran(add) || ran(renew) { return }
        try db.prepared("UPDATE resources SET object = ? WHERE key = ?").run(object, deposit.key)
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
