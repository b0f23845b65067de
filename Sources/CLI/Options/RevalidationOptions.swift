import ArgumentParser
import LarderKit

/// What is asked for of what is cached, for `prefetch` and `plan`.
struct RevalidationOptions: ParsableArguments {
    @Option(
        help: ArgumentHelp(
            """
            Which cached icons to ask for again: stale ones; always, fresh ones too, unless they \
            are immutable; or never any.
            """, valueName: "which"))
    var revalidate = Revalidation.stale

    func apply(to policy: inout PlanPolicy) { policy.revalidation = revalidate }
}

extension Revalidation: ExpressibleByArgument {}
