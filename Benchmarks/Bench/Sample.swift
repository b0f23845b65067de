/// One contender's run in one round: a line of the results.
struct Sample {
    let scenario: String
    let contender: String
    let entries: Int
    let round: Int
    let usage: Usage

    init(scenario: String, contender: String, entries: Int, round: Int, usage: Usage) {
        self.scenario = scenario
        self.contender = contender
        self.entries = entries
        self.round = round
        self.usage = usage
    }

    /// Nil for what is no line of results, such as their heading.
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

    var line: String {
        let numbers = [usage.wall, usage.user, usage.system, usage.peak / 1e6].map { $0.fixed(4) }
        return ([scenario, contender, "\(entries)", "\(round)"] + numbers).joined(separator: "\t")
    }
}
