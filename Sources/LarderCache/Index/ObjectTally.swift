import GRDB

/// How many, and how much.
public struct ObjectTally: Sendable, Equatable {
    /// How many there are.
    public internal(set) var count = 0
    /// The sum of their bytes: of objects their sizes, of leftovers what is free on disk without
    /// them: nothing for what has another name (a hard link).
    public internal(set) var bytes: Int64 = 0

    /// None.
    public init() {}

    /// All objects of a table.
    init(_ db: Database, _ table: String) throws {
        let sums = try PreparedStatement(
            db, "SELECT count(id), coalesce(sum(size), 0) FROM \(table)"
        ).rows { (Int($0.integer(0)), try $0.requireInteger(1)) }
        (count, bytes) = sums.first ?? (0, 0)
    }

    mutating func add(_ bytes: Int64) {
        count += 1
        self.bytes += bytes
    }

    static func += (sum: inout ObjectTally, other: ObjectTally) {
        sum.count += other.count
        sum.bytes += other.bytes
    }

    static func -= (sum: inout ObjectTally, other: ObjectTally) {
        sum.count -= other.count
        sum.bytes -= other.bytes
    }
}
