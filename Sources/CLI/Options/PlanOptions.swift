import ArgumentParser
import Foundation
import LarderCore
import LarderPrefetch

struct RevalidationOptions: ParsableArguments {
    @Option(
        help: .common(
            "The cached icons to revalidate: stale icons (stale), all icons except fresh immutable "
                + "ones (always), or no icons (never).", "which"))
    var revalidate = Revalidation.stale

    @Option(
        help: .rare(
            "The time for which an icon with a 404 or 410 response fails without a new request. "
                + "With 0, the icon is requested every time. (default: 1h)", "time"),
        transform: TimeSpan.parse)
    var failureTtl = Duration.seconds(3600)

    @Flag(help: .rare("Request icons with a 404 or 410 response again.")) var retryGone = false

    @Flag(
        help: .rare(
            "Download all icons of the manifests from their servers again, including fresh icons "
                + "and icons with a 404 or 410 response."))
    var force = false

    @Flag(help: "Download only icons that failed before, even with a 404 or 410 response.")
    var retryFailed = false

    func validate() throws {
        try refuse(
            if: force && revalidate == .never,
            "--force cannot be combined with --revalidate never.")
    }

    func apply(to policy: inout PlanPolicy) {
        policy.revalidation = revalidate
        policy.fetchesAll = force
        policy.failureLifetime = retryGone ? .zero : failureTtl
        policy.retriesOnlyFailed = retryFailed
    }
}

extension Revalidation: ExpressibleByArgument {}

/// The largest number or percentage of failed icons that still gives exit status 0: `20` or `2.5%`.
struct FailureAllowance: Equatable, CustomStringConvertible {
    static let none = FailureAllowance(number: 0, isPercent: false)

    let number: Decimal
    let isPercent: Bool

    static func parse(_ argument: String) throws -> FailureAllowance {
        if let percent = Quantity.percent(argument) {
            return FailureAllowance(number: percent, isPercent: true)
        }
        guard argument.isDigits, let count = Int(argument) else {
            throw ValidationError("expected a count, such as 20, or a percentage up to 100%")
        }
        return FailureAllowance(number: Decimal(count), isPercent: false)
    }

    var description: String { "\(number)" + (isPercent ? "%" : "") }

    func covers(_ failed: Int, of icons: Int) -> Bool {
        isPercent ? Decimal(failed) * 100 <= number * Decimal(icons) : Decimal(failed) <= number
    }
}

/// A worker's number and the number of workers: `0/8`, or `auto` or `auto/8` with a scheduler.
struct ShardName: Equatable {
    var index: Int?
    var count: Int?

    static func parse(_ argument: String) throws -> ShardName {
        if argument == "auto" { return ShardName() }
        let parts = argument.split(separator: "/", omittingEmptySubsequences: false)
        if parts.count == 2, parts[1].isDigits, let count = Int(parts[1]),
            Shard.allowedCounts.contains(count)
        {
            if parts[0] == "auto" { return ShardName(count: count) }
            if parts[0].isDigits, let index = Int(parts[0]), index < count {
                return ShardName(index: index, count: count)
            }
        }
        throw ValidationError(
            "expected i/n, such as 0/8, with i below n and n at most "
                + "\(Shard.allowedCounts.upperBound), or auto/n, or auto")
    }

    func shard(splits: [HostSplit] = []) throws -> Shard? {
        if let index, let count { return Shard(index, of: count, splits: splits) }
        let task = try Scheduler.task(ProcessInfo.variables)
        guard let count = count ?? task.count else {
            throw ValidationError(
                "--shard auto: \(task.variable) does not include the number of workers. Add it, as "
                    + "in auto/8.")
        }
        // Resubmitting a part of an array changes its indices, so the counts must match.
        let said = task.count ?? count
        try refuse(
            if: said != count,
            "--shard auto/\(count): the Slurm array has \(said.of("task")). Use the index instead, "
                + "such as 0/\(count).")
        let most = Shard.allowedCounts.upperBound
        try refuse(
            if: count > most,
            "--shard auto: the Slurm array has \(count) tasks. At most \(most) can run.")
        try refuse(
            if: task.index >= count,
            "--shard auto/\(count): \(task.variable) is \(task.number), too high for \(count) "
                + "workers.")
        return Shard(task.index, of: count, splits: splits)
    }
}

private enum Scheduler {
    private static let slurm = "SLURM_ARRAY_TASK_ID"
    private static let parallel = "PARALLEL_SEQ"

    /// If one scheduler runs inside another, the index is ambiguous.
    static func task(
        _ environment: [String: String]
    ) throws -> (index: Int, count: Int?, variable: String, number: Int) {
        let set = ["JOB_COMPLETION_INDEX", slurm, parallel]
            .filter { environment[$0]?.isEmpty == false }
        guard let variable = set.first, set.count == 1 else {
            throw unusable(
                set.isEmpty
                    ? " needs JOB_COMPLETION_INDEX (Kubernetes), \(slurm) (Slurm) or \(parallel) "
                        + "(GNU parallel) to be set"
                    : " needs one scheduler, but \(set.joined(separator: " and ")) are set")
        }
        let task = try number(variable, in: environment)
        guard variable == slurm else {
            // GNU parallel counts from 1.
            return (variable == parallel ? task - 1 : task, nil, variable, task)
        }
        func value(_ name: String, default other: Int? = nil) throws -> Int {
            let name = "SLURM_ARRAY_TASK_\(name)"
            if let other, environment[name]?.isEmpty != false { return other }
            return try number(name, in: environment)
        }
        // The array may start at any number and have a step, but no gaps.
        let (tasks, first) = (try value("COUNT"), try value("MIN"))
        let step = max(1, try value("STEP", default: 1))
        let last = first + step * (tasks - 1)
        let index = (task - first) / step
        guard task == first + index * step, (0..<tasks).contains(index),
            try value("MAX", default: last) == last
        else { throw unusable(" needs a Slurm array without gaps, such as --array=0-7") }
        return (index, tasks, variable, task)
    }

    private static func number(_ variable: String, in environment: [String: String]) throws -> Int {
        guard let text = environment[variable], !text.isEmpty else {
            throw unusable(": \(slurm) is set, but \(variable) is not")
        }
        let first = variable == parallel ? 1 : 0
        guard text.utf8.count <= 9, text.isDigits, let number = Int(text), number >= first else {
            throw ValidationError(
                "--shard auto: \(variable) must be a whole number from \(first) to 999999999.")
        }
        return number
    }

    private static func unusable(_ reason: String) -> ValidationError {
        ValidationError("--shard auto\(reason). Or use an index, such as --shard 0/8.")
    }
}
