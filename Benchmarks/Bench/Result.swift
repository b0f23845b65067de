import BenchmarkSupport

struct Result {
    let scenario: String
    let entries: Int
    let rounds: Int
    /// `larder` comes first.
    let standings: [Standing]

    static func all(of samples: [Sample]) -> [Result] {
        var found: [(scenario: String, entries: Int)] = []
        for sample in samples
        where !found.contains(where: { $0 == (sample.scenario, sample.entries) }) {
            found.append((sample.scenario, sample.entries))
        }
        return found.map { race in Result(samples.filter { ($0.scenario, $0.entries) == race }) }
    }

    /// - Parameter samples: At least one, all of the same race.
    private init(_ samples: [Sample]) {
        scenario = samples[0].scenario
        entries = samples[0].entries
        rounds = samples.map(\.round).max() ?? 0
        var names: [String] = []
        for sample in samples where !names.contains(sample.contender) {
            names.append(sample.contender)
        }
        names.sort { $0 == Standing.subject && $1 != Standing.subject }
        func of(_ name: String, _ value: (Usage) -> Double) -> Spread {
            Spread(samples.filter { $0.contender == name }.map { value($0.usage) })
        }
        let peers = names.filter { !$0.hasPrefix(Standing.subject) }
        let best = peers.min { of($0, \.wall).median < of($1, \.wall).median }
        standings = names.map { name in
            let ratios = samples.filter { $0.contender == name }.compactMap { sample in
                samples.first { $0.contender == best && $0.round == sample.round }
                    .map { sample.usage.wall / $0.usage.wall }
            }
            return Standing(
                contender: name, wall: of(name, \.wall), user: of(name, \.user),
                system: of(name, \.system), peak: of(name, \.peak),
                ratio: ratios.isEmpty ? nil : Spread(ratios))
        }
    }

    var table: String {
        var rows = [
            [
                "", "seconds", "min–max", "ratio", "min–max", "entries/s", "user s", "sys s",
                "peak MB",
            ]
        ]
        for standing in standings {
            rows.append([
                standing.contender, standing.wall.median.fixed(2), standing.wall.text(2),
                standing.ratio?.median.fixed(2) ?? "", standing.ratio?.text(2) ?? "",
                (Double(entries) / standing.wall.median).fixed(0), standing.user.median.fixed(2),
                standing.system.median.fixed(2), (standing.peak.median / 1e6).fixed(1),
            ])
        }
        let widths = [22, 8, 13, 6, 11, 10, 7, 7, 8]
        let lines = rows.map { row in
            zip(row, widths).enumerated().map { column, cell in
                column == 0 ? cell.0.padded(to: cell.1) : cell.0.aligned(to: cell.1)
            }.joined(separator: " ")
        }
        let times = rounds == 1 ? "1 round" : "\(rounds) rounds"
        let heading = "\(scenario): \(entries.grouped) entries, \(times)"
        return ([heading] + lines + [""]).joined(separator: "\n")
    }
}

/// The result of a contender over all rounds.
struct Standing {
    let contender: String
    let wall: Spread
    let user: Spread
    let system: Spread
    let peak: Spread
    /// The time divided by the time of the fastest peer in the same round. Nil without a peer.
    let ratio: Spread?

    static let subject = "larder"
}

struct Spread {
    let median: Double
    let minimum: Double
    let maximum: Double

    /// - Parameter numbers: At least one.
    init(_ numbers: [Double]) {
        let sorted = numbers.sorted()
        let middle = sorted.count / 2
        median =
            sorted.count.isMultiple(of: 2)
            ? (sorted[middle - 1] + sorted[middle]) / 2 : sorted[middle]
        minimum = sorted[0]
        maximum = sorted[sorted.count - 1]
    }

    func text(_ digits: Int) -> String { "\(minimum.fixed(digits))–\(maximum.fixed(digits))" }
}
