import BenchmarkSupport

/// The resources that a process used.
struct Usage {
    /// Wall-clock time in seconds.
    var wall: Double
    /// User CPU time in seconds.
    var user: Double
    /// System CPU time in seconds.
    var system: Double
    /// Peak resident memory in bytes. Never less than the memory of this program, because the
    /// kernel counts the child process before it executes the command.
    var peak: Double
}

/// One run of a contender. Stored as one line of the samples.
struct Sample {
    let scenario: String
    let contender: String
    let entries: Int
    let round: Int
    let usage: Usage

    var line: String {
        let numbers = [usage.wall, usage.user, usage.system, usage.peak / 1e6].map { $0.fixed(4) }
        return ([scenario, contender, "\(entries)", "\(round)"] + numbers).joined(separator: "\t")
    }
}

extension Sample {
    /// Nil for other lines, for example the heading.
    init?(line: String) {
        let fields = line.split(separator: "\t", omittingEmptySubsequences: false)
        guard fields.count == 8, let entries = Int(fields[2]), let round = Int(fields[3]) else {
            return nil
        }
        let numbers = fields[4...].compactMap { Double($0) }
        guard numbers.count == 4 else { return nil }
        self.init(
            scenario: String(fields[0]), contender: String(fields[1]), entries: entries,
            round: round,
            usage: Usage(
                wall: numbers[0], user: numbers[1], system: numbers[2], peak: numbers[3] * 1e6))
    }
}
