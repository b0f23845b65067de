import ArgumentParser
import LarderKit

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
