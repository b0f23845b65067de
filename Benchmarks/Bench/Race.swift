/// A program in a race, as shell commands. Only `run` is timed.
struct Contender {
    let name: String
    let prepare: String
    let run: String
    /// Fails unless the run did all its work.
    let check: String

    /// Nil unless the line has four fields, separated by tabs.
    init?(line: String) {
        let fields = line.split(separator: "\t", omittingEmptySubsequences: false).map(String.init)
        guard fields.count == 4 else { return nil }
        (name, prepare, run, check) = (fields[0], fields[1], fields[2], fields[3])
    }
}

/// Contenders that take turns, so that other load on the machine affects all of them.
struct Race {
    let scenario: String
    let entries: Int
    let contenders: [Contender]

    struct Failure: Error, CustomStringConvertible { let description: String }

    /// Calls `record` for each contender and round. Each round begins with another contender.
    func run(rounds: Int, _ record: (Sample) -> Void) throws {
        guard !contenders.isEmpty else { throw Failure(description: "no contenders") }
        for round in 0..<rounds {
            for turn in contenders.indices {
                let contender = contenders[(turn + round) % contenders.count]
                _ = try finish(contender.prepare, of: contender, step: "the preparation")
                let usage = try finish(contender.run, of: contender, step: "the run")
                _ = try finish(contender.check, of: contender, step: "the check")
                record(
                    Sample(
                        scenario: scenario, contender: contender.name, entries: entries,
                        round: round + 1, usage: usage))
            }
        }
    }

    private func finish(_ command: String, of contender: Contender, step: String) throws -> Usage {
        let (status, usage) = try Child.run(command)
        guard status == 0 else {
            throw Failure(description: "\(contender.name): \(step) ended with status \(status)")
        }
        return usage
    }
}
