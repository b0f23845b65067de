import ArgumentParser
import LarderKit

/// What is asked for of what failed before, for `prefetch` and `plan`.
struct FailureOptions: ParsableArguments {
    @Option(
        help: ArgumentHelp(
            """
            For this long, do not ask again for an icon that was gone (404, 410): it fails at \
            once. 0 asks every time. (default: 1h)
            """, valueName: "time"),
        transform: TimeSpan.parse)
    var failureTtl = TimeSpan(seconds: 3600)

    @Flag(help: "Ask again for icons that were gone (404, 410).")
    var force = false

    @Flag(help: "Fetch only what failed before, including icons that were gone.")
    var retryFailed = false

    func apply(to policy: inout PlanPolicy) {
        policy.failureLifetime = force ? .zero : failureTtl.duration
        policy.retriesOnlyFailed = retryFailed
    }
}
