import ArgumentParser

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
