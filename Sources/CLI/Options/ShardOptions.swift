import ArgumentParser
import Foundation
import LarderPrefetch

/// Which part of the work is this run's, for `prefetch` and `plan`.
struct ShardOptions: ParsableArguments {
    @Option(
        name: .customLong("shard"),
        help: ArgumentHelp(
            """
            Be worker i of n, counted from 0, and leave the icons on other workers' hosts to them: \
            0/8. With auto/n, i comes from Kubernetes, Slurm or GNU parallel; with auto, n from \
            Slurm, too.
            """, valueName: "i/n"),
        transform: ShardName.parse)
    var name: ShardName?

    @Option(
        name: .customLong("split-host"),
        help: ArgumentHelp(
            """
            Divide the icons on this host into k pieces, for several workers, which share the \
            limits per host. All workers need the same. May be repeated.
            """, valueName: "host=k"))
    var splitHosts: [String] = []

    func validate() throws {
        guard name != nil || splitHosts.isEmpty else {
            throw ValidationError("--split-host needs --shard.")
        }
        guard Set(try splits.map(\.host)).count == splitHosts.count else {
            throw ValidationError("--split-host names a host twice.")
        }
        _ = try shard
    }

    /// Each piece of a host may have at least one request under way.
    func validate(perHost: Int) throws {
        guard let pieces = try splits.map(\.pieces).max(), pieces > perHost else { return }
        throw ValidationError(
            """
            --split-host divides a host into \(pieces) pieces, of which each needs a request of \
            its own, but --max-per-host is \(perHost). Give --max-per-host \(pieces) or more.
            """)
    }

    /// Nil if there are no other workers.
    var shard: Shard? {
        get throws {
            guard let place = try name?.place(ProcessInfo.processInfo.environment) else {
                return nil
            }
            return Shard(place.index, of: place.count, splits: try splits)
        }
    }

    private var splits: [HostSplit] {
        get throws {
            try splitHosts.map { text in
                let parts = text.split(separator: "=", omittingEmptySubsequences: false)
                if parts.count == 2, let pieces = Int(parts[1]),
                    let split = HostSplit(host: String(parts[0]), pieces: pieces)
                {
                    return split
                }
                // Not quoted: who mistook it for a URL may have typed a password.
                let pieces = HostSplit.allowedPieces
                throw ValidationError(
                    """
                    --split-host needs HOST=K: a host without a scheme, port or path, and a \
                    number from \(pieces.lowerBound) to \(pieces.upperBound).
                    """)
            }
        }
    }
}

/// Which worker of how many a run is: `0/8`, or as a scheduler says (`auto`, `auto/8`).
enum ShardName: Equatable {
    case number(Int, of: Int)
    case auto(of: Int?)

    /// - Throws: `ValidationError`, which says what is valid.
    static func parse(_ argument: String) throws -> ShardName {
        if let name = ShardName(argument) { return name }
        throw ValidationError(
            """
            it is i/n, such as 0/8, where i is below n and n from 1 to \
            \(Shard.allowedCounts.upperBound); or auto/n, or auto
            """)
    }

    private init?(_ text: String) {
        let parts = text.split(separator: "/", omittingEmptySubsequences: false)
        if text == "auto" {
            self = .auto(of: nil)
            return
        }
        guard parts.count == 2, let count = Self.number(parts[1]),
            Shard.allowedCounts.contains(count)
        else { return nil }
        if parts[0] == "auto" {
            self = .auto(of: count)
        } else if let index = Self.number(parts[0]), index < count {
            self = .number(index, of: count)
        } else {
            return nil
        }
    }

    private static func number(_ text: Substring) -> Int? {
        text.utf8.allSatisfy { (0x30...0x39).contains($0) } ? Int(text) : nil
    }

    /// Which worker this is.
    ///
    /// - Throws: `ValidationError` if the scheduler does not say, or says something else.
    func place(_ environment: [String: String]) throws -> (index: Int, count: Int) {
        switch self {
        case .number(let index, let count): return (index, count)
        case .auto(let wanted):
            let task = try SchedulerTask(environment)
            guard let count = wanted ?? task.count else {
                throw ValidationError(
                    """
                    --shard auto: \(task.variable) does not say how many workers there are. Say \
                    it, as in auto/8.
                    """)
            }
            // Part of an array, submitted again, is numbered from 0 again.
            if let said = task.count, said != count {
                throw ValidationError(
                    """
                    --shard auto/\(count): the Slurm array has \(said) \
                    \(said == 1 ? "task" : "tasks"). Name the shard instead, such as 0/\(count).
                    """)
            }
            let most = Shard.allowedCounts.upperBound
            guard count <= most else {
                throw ValidationError(
                    """
                    --shard auto: the Slurm array has \(count) tasks, and at most \(most) workers \
                    can share the work.
                    """)
            }
            guard task.index < count else {
                throw ValidationError(
                    """
                    --shard auto/\(count): \(task.variable) is \(task.number), which is more than \
                    \(count) workers have.
                    """)
            }
            return (task.index, count)
        }
    }
}

/// Which of several like processes a scheduler says that this one is.
struct SchedulerTask {
    /// The first is 0.
    let index: Int
    /// How many there are, if the scheduler tells.
    let count: Int?
    /// What the index comes from, and what it says.
    let variable: String
    let number: Int

    private static let kubernetes = "JOB_COMPLETION_INDEX"
    private static let slurm = "SLURM_ARRAY_TASK_ID"
    private static let parallel = "PARALLEL_SEQ"

    /// - Throws: `ValidationError` if no scheduler says it, or several do: one of them may have
    ///   started another, and nobody knows which of them counts the workers.
    init(_ environment: [String: String]) throws {
        let set = [Self.kubernetes, Self.slurm, Self.parallel].filter {
            environment[$0].map { !$0.isEmpty } ?? false
        }
        guard let variable = set.first else {
            throw ValidationError(
                """
                --shard auto needs \(Self.kubernetes) (Kubernetes), \(Self.slurm) (Slurm) or \
                \(Self.parallel) (GNU parallel), and none of them is set. Name the shard instead, \
                such as 0/8.
                """)
        }
        guard set.count == 1 else {
            throw ValidationError(
                """
                --shard auto needs one scheduler, and \(set.joined(separator: " and ")) are set. \
                Name the shard instead, such as 0/8.
                """)
        }
        self.variable = variable
        number = try Self.number(variable, in: environment)
        switch variable {
        case Self.slurm:
            (index, count) = try Self.place(ofArrayTask: number, environment)
        case Self.parallel:
            // Jobs are counted from 1, and nobody knows how many will come.
            guard number > 0 else { throw Self.unusable(variable) }
            (index, count) = (number - 1, nil)
        default:
            (index, count) = (number, nil)
        }
    }

    /// An array may begin anywhere and go in steps. One with gaps does not count its tasks.
    private static func place(
        ofArrayTask id: Int, _ environment: [String: String]
    ) throws -> (index: Int, count: Int) {
        func number(_ name: String) throws -> Int {
            try Self.number("SLURM_ARRAY_TASK_\(name)", in: environment)
        }
        func isSet(_ name: String) -> Bool {
            environment["SLURM_ARRAY_TASK_\(name)"].map { !$0.isEmpty } ?? false
        }
        let (count, first) = (try number("COUNT"), try number("MIN"))
        // A single task is first, whatever step Slurm says.
        if count == 1, id == first { return (0, 1) }
        let step = isSet("STEP") ? try number("STEP") : 1
        let last = isSet("MAX") ? try number("MAX") : nil
        guard step > 0, id >= first, (id - first) % step == 0, (id - first) / step < count,
            last.map({ $0 - first == step * (count - 1) }) ?? true
        else {
            throw ValidationError(
                """
                --shard auto needs a Slurm array without gaps, such as --array=0-7. Name the shard \
                instead, such as 0/8.
                """)
        }
        return ((id - first) / step, count)
    }

    /// - Throws: `ValidationError` if it is not a number; or not set, as Slurm's others can be.
    private static func number(_ variable: String, in environment: [String: String]) throws -> Int {
        guard let text = environment[variable], !text.isEmpty else {
            throw ValidationError(
                """
                --shard auto: \(slurm) is set, but \(variable) is not. Name the shard instead, \
                such as 0/8.
                """)
        }
        // More digits would be more than any scheduler counts to.
        guard (1...9).contains(text.utf8.count),
            text.utf8.allSatisfy({ (0x30...0x39).contains($0) }), let number = Int(text)
        else { throw unusable(variable) }
        return number
    }

    private static func unusable(_ variable: String) -> ValidationError {
        let first = variable == parallel ? 1 : 0
        return ValidationError(
            "--shard auto: \(variable) must be a whole number from \(first) to 999999999.")
    }
}
