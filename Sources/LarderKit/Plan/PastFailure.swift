import Foundation
import LarderCache

/// How a resource failed when it was last asked for.
public struct PastFailure: Sendable, Equatable {
    /// The reason's name, such as `http-503`.
    public let code: String
    /// The HTTP status, if that is the reason.
    public let status: Int?
    /// When it failed.
    public let failedAt: Date
    /// In how many runs in a row.
    public let count: Int

    /// What an index says: a code of any other form than larder's own is `unknown`.
    init(code: String?, status: Int?, failedAt: Date, count: Int) {
        self.code = code.flatMap { Self.isCode($0) ? $0 : nil } ?? "unknown"
        self.status = status
        self.failedAt = failedAt
        self.count = count
    }

    /// Whether a text could be the name of a reason.
    private static func isCode(_ text: String) -> Bool {
        !text.isEmpty && text.utf8.count <= 64
            && text.utf8.allSatisfy {
                0x61...0x7A ~= $0 || $0.isDigit || $0 == UInt8(ascii: "-")
            }
    }

    /// How long ago it failed, for people.
    package var age: String { DurationText.describe(max(0, -failedAt.timeIntervalSinceNow)) }

    /// How resources failed, in their order; nil of those that did not.
    ///
    /// - Throws: `CacheError` if the index cannot be read.
    package static func of(_ keys: [String], in cache: Cache) throws -> [PastFailure?] {
        try cache.failures(keys).map { failure in
            failure.map {
                PastFailure(
                    code: $0.code, status: $0.status, failedAt: $0.failedAt, count: $0.count)
            }
        }
    }

    /// The reason, for people.
    package var reason: String { status.map { "the server answered with status \($0)" } ?? code }

    /// The statuses of permanent failures: they are not asked for again within
    /// ``PlanPolicy/failureLifetime``.
    static let permanentStatuses = [404, 410]
}
