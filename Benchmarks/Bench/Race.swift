/// Contenders that do the same in turns, so that what disturbs the machine disturbs them all.
struct Race {
    let scenario: String
    let entries: Int
    let contenders: [Contender]

    /// A contender did not do its work; the race counts for nothing.
    struct Void: Error, CustomStringConvertible {
        let description: String
    }

    /// Hands over a sample for each contender and round. Each round begins with another contender.
    func run(rounds: Int, _ record: (Sample) -> ()) throws {
        guard !contenders.isEmpty else { throw Void(description: "nobody takes part") }
        for round in 0..<rounds {
            for turn in contenders.indices {
                let contender = contenders[(turn + round) % contenders.count]
                _ = try finish(contender.prepare, of: contender, what: "preparing")
                let usage = try finish(contender.run, of: contender, what: "the run")
                _ = try finish(contender.check, of: contender, what: "the check after it")
                record(
                    Sample(
                        scenario: scenario, contender: contender.name, entries: entries,
                        round: round + 1, usage: usage))
            }
        }
    }

    private func finish(_ command: String, of contender: Contender, what: String) throws -> Usage {
        let (status, usage) = try Child.run(command)
        guard status == 0 else {
            throw Void(description: "\(contender.name): \(what) ended with status \(status)")
        }
        return usage
    }
}
