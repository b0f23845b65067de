import ArgumentParser
import Foundation
import LarderPrefetch

struct RevalidationOptions: ParsableArguments {
    @Option(
        help: .common(
            """
            The cached icons to revalidate: stale icons (stale), all icons except fresh immutable \
            ones (always), or no icons (never).
            """, "which"))
    var revalidate = Revalidation.stale

    @Option(
        help: .rare(
            """
            The time during which an icon that was gone (404, 410) fails without a new request. \
            With 0, the icon is requested every time. (default: 1h)
            """, "time"), transform: TimeSpan.parse)
    var failureTtl = TimeSpan(seconds: 3600)

    @Flag(help: .rare("Request icons that were gone (404, 410) again.")) var retryGone = false

    @Flag(
        help: .rare(
            """
            Download all icons of the manifests from their servers again, including icons that are \
            fresh or were gone.
            """))
    var force = false

    @Flag(help: "Download only icons that failed before, including icons that were gone.")
    var retryFailed = false

    func validate() throws {
        if force, revalidate == .never {
            throw ValidationError("--force cannot be combined with --revalidate never.")
        }
    }

    func apply(to policy: inout PlanPolicy) {
        policy.revalidation = revalidate
        policy.fetchesAll = force
        policy.failureLifetime = retryGone ? .zero : failureTtl.duration
        policy.retriesOnlyFailed = retryFailed
    }
}

extension Revalidation: ExpressibleByArgument {}

/// The largest number or percentage of failed icons that still gives exit status 0: `20` or `2.5%`.
enum FailureAllowance: Equatable, CustomStringConvertible {
    case count(Int)
    case percent(Decimal)

    static let none = FailureAllowance.count(0)

    static func parse(_ argument: String) throws -> FailureAllowance {
        if let percent = Quantity.percent(argument) { return .percent(percent) }
        if argument.isDigits, let count = Int(argument) { return .count(count) }
        throw ValidationError("expected a count, such as 20, or a percentage up to 100%")
    }

    var description: String {
        switch self {
        case .count(let count): "\(count)"
        case .percent(let percent): "\(percent)%"
        }
    }

    func covers(_ failed: Int, of icons: Int) -> Bool {
        switch self {
        case .count(let most): failed <= most
        case .percent(let percent): Decimal(failed) * 100 <= percent * Decimal(icons)
        }
    }
}
