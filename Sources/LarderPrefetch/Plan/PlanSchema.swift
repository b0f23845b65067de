import Foundation
import GRDB
import LarderCache

enum PlanSchema {
    static func open(at path: String?, cache: Cache?) throws -> DatabaseQueue {
        let queue = try Cache.scratchDatabase(at: path, beside: cache)
        try queue.writeWithoutTransaction { try $0.execute(sql: tables) }
        return queue
    }

    /// Tables are written in their own order. Updating an index for every entry would take most of
    /// the time.
    private static let tables = """
        PRAGMA main.cache_size = -1536; -- KiB for pages, and as much again for what is being sorted
        CREATE TABLE main.entries (
            id INTEGER PRIMARY KEY, manifest INTEGER NOT NULL, position INTEGER NOT NULL,
            icon INTEGER NOT NULL,     -- its place among its entry's; a row is one icon
            name TEXT,
            key TEXT,                  -- of its resource; NULL where there is nothing to fetch
            url TEXT,                  -- NULL where it is the key, or the manifest has the bytes
            credentials BLOB,          -- sealed; NULL where there are none
            origin INTEGER,
            priority INTEGER NOT NULL DEFAULT 0,  -- a leader's: its resource's highest
            digest BLOB, size INTEGER,
            leader INTEGER,            -- the resource's first entry; NULL for that itself
            code TEXT,                 -- the failure's name, NULL for an entry without an icon
            message TEXT
        );
        CREATE INDEX main.followers ON entries (leader) WHERE leader IS NOT NULL;
        CREATE TABLE main.failures (   -- how fetches of the plan failed before
            fetch INTEGER PRIMARY KEY, code TEXT NOT NULL, status INTEGER, failed_at REAL NOT NULL,
            count INTEGER NOT NULL);
        CREATE TABLE main.inline (     -- bytes that the manifest itself has for a fetch
            fetch INTEGER PRIMARY KEY, key TEXT NOT NULL UNIQUE, bytes BLOB NOT NULL);
        CREATE TABLE main.locked (     -- the bytes that entries came to, where a lock is wanted
            entry INTEGER PRIMARY KEY, digest BLOB NOT NULL, size INTEGER NOT NULL,
            media_type TEXT);
        CREATE TABLE main.settled (    -- what is not asked for because of how it went before
            fetch INTEGER PRIMARY KEY, status INTEGER NOT NULL);
        CREATE TABLE main.spellings (  -- of URLs, where they are not the canonical ones
            entry INTEGER PRIMARY KEY, text TEXT NOT NULL);
        CREATE TABLE main.uses (       -- what is cached, and used for the first time in a while
            object INTEGER NOT NULL, digest BLOB NOT NULL);
        """
}
