import Foundation
import GRDB

extension Cache {
    /// Pins resources, cached or not, so that no eviction removes their objects. Returns the number
    /// of newly pinned keys, and the number of these that are not cached.
    public func pin(_ keys: EvictionPolicy.Keys) throws -> (pinned: Int, absent: Int) {
        var absent = 0
        let pinned = try forEachStep(keys) { db, key in
            try db.prepared("INSERT OR IGNORE INTO pins (key, pinned_at) VALUES (?, ?)")
                .run(key, Date().timeIntervalSince1970)
            guard db.changesCount > 0 else { return false }
            let row = try db.prepared("SELECT 1 FROM resources WHERE key = ?")
            if try row.firstInteger(key) == nil { absent += 1 }
            return true
        }
        return (pinned, absent)
    }

    /// Whether a key is pinned.
    public func isPinned(_ key: String) throws -> Bool {
        guard let index else { return false }
        return try index.lookUp { db in
            try db.prepared("SELECT 1 FROM pins WHERE key = ?").firstInteger(key) != nil
        }
    }

    /// Unpins resources, and returns the number of keys that were pinned.
    public func unpin(_ keys: EvictionPolicy.Keys) throws -> Int {
        try forEachStep(keys) { db, key in
            try db.prepared("DELETE FROM pins WHERE key = ?").run(key)
            return db.changesCount > 0
        }
    }

    /// Calls `body` for each pinned key, in order.
    public func forEachPin(_ body: (String) throws -> Void) throws {
        try index?.forEachPage(
            of: "key", ordered: "key", from: "pins", as: { try $0.requireText() }, key: { $0 }
        ) { try $0.forEach(body) }
    }

    private func forEachStep(
        _ keys: EvictionPolicy.Keys, _ body: @escaping (Database, String) throws -> Bool
    ) throws -> Int {
        let index = try requireWritable()
        var (count, step) = (0, [String]())
        func finishStep() throws {
            try index.writeStep { db in
                for key in step where try body(db, key) { count += 1 }
            }
            step.removeAll(keepingCapacity: true)
        }
        try keys { key in
            step.append(key)
            if step.count == ObjectUse.stepLimit { try finishStep() }
        }
        if !step.isEmpty { try finishStep() }
        // A rebuild takes pins from the snapshot, because objects do not contain them.
        if count > 0 { index.trySnapshot() }
        return count
    }
}
