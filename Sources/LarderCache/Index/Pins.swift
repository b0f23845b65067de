import Foundation
import GRDB

/// The resources that no eviction takes, by key; they need not be cached. For the length of one
/// transaction.
struct PinTable {
    private let db: Database

    init(_ db: Database) { self.db = db }

    /// Pins a resource; returns whether it was not before.
    func add(_ key: String) throws -> Bool {
        try PreparedStatement(db, "INSERT OR IGNORE INTO pins (key, pinned_at) VALUES (?, ?)")
            .run(key, Date().timeIntervalSince1970)
        return db.changesCount > 0
    }

    /// Whether there is a resource of that key.
    func isCached(_ key: String) throws -> Bool {
        try PreparedStatement(db, "SELECT 1 FROM resources WHERE key = ?").firstInteger(key) != nil
    }

    /// Returns whether it was pinned.
    func remove(_ key: String) throws -> Bool {
        try PreparedStatement(db, "DELETE FROM pins WHERE key = ?").run(key)
        return db.changesCount > 0
    }
}

extension Cache {
    /// Pins resources, cached or not: no eviction takes their objects until they are unpinned.
    ///
    /// - Returns: how many were not pinned before, and how many of these are not cached.
    public func pin(_ keys: EvictionPolicy.Keys) throws -> (pinned: Int, absent: Int) {
        var absent = 0
        let pinned = try forEachStep(keys) { table, key in
            guard try table.add(key) else { return false }
            if try !table.isCached(key) { absent += 1 }
            return true
        }
        return (pinned, absent)
    }

    /// Whether a key is pinned.
    public func isPinned(_ key: String) throws -> Bool {
        try index?.isPinned(key) ?? false
    }

    /// Takes pins away.
    ///
    /// - Returns: how many were pinned.
    public func unpin(_ keys: EvictionPolicy.Keys) throws -> Int {
        try forEachStep(keys) { table, key in try table.remove(key) }
    }

    /// Every pinned key, in their order.
    public func forEachPin(_ body: (String) throws -> Void) throws {
        guard let index else { return }
        var last = ""
        while true {
            let page = try index.pins(after: last, limit: ObjectUse.stepLimit)
            guard let end = page.last else { return }
            last = end
            try page.forEach(body)
        }
    }

    /// Counts the keys for which `body` answers true.
    private func forEachStep(
        _ keys: EvictionPolicy.Keys, _ body: @escaping (PinTable, String) throws -> Bool
    ) throws -> Int {
        let index = try requireWritable()
        var (count, step) = (0, [String]())
        func finishStep() throws {
            var counted = 0
            try index.writeStep { db in
                let table = PinTable(db)
                for key in step where try body(table, key) { counted += 1 }
            }
            count += counted
            step.removeAll(keepingCapacity: true)
        }
        try keys { key in
            step.append(key)
            if step.count == ObjectUse.stepLimit { try finishStep() }
        }
        if !step.isEmpty { try finishStep() }
        // Pins are nobody's but the user's, and can be had from nowhere else.
        if count > 0 { index.trySnapshot() }
        return count
    }
}
