import ArgumentParser
import Foundation
import LarderPrefetch

struct RevalidationOptions: ParsableArguments {
    @Option(
        help: ArgumentHelp(
            """
            Which cached icons to ask for again. stale: those that are not fresh; always: also \
            fresh ones, unless they are immutable; never: none.
            """, valueName: "which"))
    var revalidate = Revalidation.stale

    @Option(
        help: .rare(
            """
            For this long, do not ask again for an icon that was gone (404, 410): it fails at \
            once. 0 asks every time. (default: 1h)
            """, "time"), transform: TimeSpan.parse)
    var failureTtl = TimeSpan(seconds: 3600)

    @Flag(help: .rare("Ask again for icons that were gone (404, 410).")) var force = false

    @Flag(help: "Fetch only what failed before, including icons that were gone.")
    var retryFailed = false

    func apply(to policy: inout PlanPolicy) {
        policy.revalidation = revalidate
        policy.failureLifetime = force ? .zero : failureTtl.duration
        policy.retriesOnlyFailed = retryFailed
    }
}

extension Revalidation: ExpressibleByArgument {}

/// The number of icons that may fail without an effect on the exit status: `20`, or `2.5%` of all.
enum FailureAllowance: Equatable, CustomStringConvertible {
    case count(Int)
    case percent(Decimal)

    static let none = FailureAllowance.count(0)

    static func parse(_ argument: String) throws -> FailureAllowance {
        if let percent = Quantity.percent(argument) { return .percent(percent) }
        if argument.isDigits, let count = Int(argument) { return .count(count) }
        throw ValidationError("it is a count, such as 20, or a percentage up to 100%, such as 2.5%")
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
