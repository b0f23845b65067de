import ArgumentParser
import LarderKit

/// What is asked for of what is cached, for `prefetch` and `plan`.
struct RevalidationOptions: ParsableArguments {
    @Option(
        help: ArgumentHelp(
            """
            Which cached icons are asked for again: stale, those no longer fresh; always, fresh ones, \
            too, unless they are immutable; never, none, whatever their age.
            """, valueName: "which"))
    var revalidate = Revalidation.stale

    func apply(to policy: inout PlanPolicy) { policy.revalidation = revalidate }
}

extension Revalidation: ExpressibleByArgument {}
