import Foundation

/// How a resource failed when it was last asked for.
public struct PastFailure: Sendable, Equatable {
    /// The reason's name, such as `http-503`.
    public let code: String
    /// The HTTP status, where that is the reason.
    public let status: Int?
    /// When it failed.
    public let failedAt: Date
    /// In how many runs in a row.
    public let count: Int

    /// How long ago it failed, for people.
    var age: String { DurationText.describe(max(0, -failedAt.timeIntervalSinceNow)) }

    /// The statuses of permanent failures: they are not asked for again within
    /// ``PlanPolicy/failureLifetime``.
    static let permanentStatuses = [404, 410]
}
