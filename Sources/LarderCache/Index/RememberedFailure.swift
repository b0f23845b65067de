import Foundation

/// How a resource failed when it was last asked for, as the index has it.
package struct RememberedFailure: Sendable {
    /// The reason's name; text of somebody's index.
    package let code: String?
    /// The HTTP status, if that is the reason.
    package let status: Int?
    /// When it failed.
    package let failedAt: Date
    /// In how many runs in a row.
    package let count: Int

    static let columns = "code, status, failed_at, count"

    init(_ row: PreparedStatement) throws {
        code = row.text(0)
        status = row.optionalInteger(1).map(Int.init)
        failedAt = Date(timeIntervalSince1970: try row.requireTime(2))
        count = Int(row.integer(3))
    }
}

extension CacheIndex {
    /// How resources failed when they were last asked for, in their order.
    func failures(_ keys: [String]) throws(CacheError) -> [RememberedFailure?] {
        try lookUp { db in
            let isAny = try PreparedStatement(db, "SELECT 1 FROM failures LIMIT 1").firstInteger()
            guard isAny != nil else { return keys.map { _ in nil } }
            let find = try PreparedStatement(
                db, "SELECT \(RememberedFailure.columns) FROM failures WHERE key = ?")
            return try keys.map { try find.rows($0, as: RememberedFailure.init).first }
        }
    }
}
