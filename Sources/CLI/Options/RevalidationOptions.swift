import ArgumentParser
import LarderKit

/// What is asked for of what is cached, for `prefetch` and `plan`.
struct RevalidationOptions: ParsableArguments {
    @Option(
        help: ArgumentHelp(
            """
            Which cached icons to ask for again. stale: those that are not fresh; always: also \
            fresh ones, unless they are immutable; never: none.
            """, valueName: "which"))
    var revalidate = Revalidation.stale

    func apply(to policy: inout PlanPolicy) { policy.revalidation = revalidate }
}

extension Revalidation: ExpressibleByArgument {}
