import Foundation
import LarderTestSupport
import Testing

/// The result of a prefetch, read from `--json` and `--report`.
struct PrefetchRun {
    /// The reason for the failure of an entry or a run.
    struct Problem: Decodable, Equatable {
        let code: String
        let message: String
    }

    /// The object that `--json` prints.
    struct Summary: Decodable, Equatable {
        let entries: Int
        let fetched: Int
        let revalidated: Int
        let cached: Int
        let coalesced: Int
        let skipped: Int
        let failed: Int
        let unfinished: Int
        let unstored: Int
        let failures: [String: Int]
        let receivedBytes: Int
        let seconds: Double
        let interrupted: Bool
        let error: Problem?
        let icons: Int
        let otherShards: Int
        let pulled: Int
        let shared: Int
        let remote: Remote?
    }

    struct Remote: Decodable, Equatable {
        let pulled: Int
        let pushed: Int
        let present: Int
        let unpushed: Int
        let personal: Int
        let faults: [String: Int]
        let firstFault: String?
        let error: String?
    }

    /// A line of `--report`.
    struct Line: Decodable, Equatable {
        var manifest: String
        let position: Int
        let name: String
        let url: String?
        let outcome: String
        let digest: String?
        let bytes: Int?
        let mediaType: String?
        let width: Int?
        let height: Int?
        let attempts: Int
        var seconds: Double
        var error: Problem?
        let iconNumber: Int
    }

    let finished: Finished
    let summary: Summary
    let lines: [Line]

    var status: Int32 { finished.status }

    /// Reads the summary and the report, and always checks that they agree.
    init(_ finished: Finished, report: String) throws {
        self.finished = finished
        summary = try Self.summary(of: finished)
        let decoder = Self.decoder
        lines = try Data(contentsOf: URL(fileURLWithPath: report))
            .split(separator: UInt8(ascii: "\n")).map { try decoder.decode(Line.self, from: $0) }
        checkAgreement()
    }

    static func summary(of finished: Finished) throws -> Summary {
        try #require(
            try? decoder.decode(Summary.self, from: finished.standardOutputBytes), "\(finished)")
    }

    private static var decoder: JSONDecoder {
        let decoder = JSONDecoder()
        decoder.keyDecodingStrategy = .convertFromSnakeCase
        return decoder
    }

    func remote() throws -> Remote { try #require(summary.remote, "\(finished)") }

    /// Returns the line of an entry of the only manifest.
    func line(_ position: Int) throws -> Line {
        try #require(lines.first { $0.position == position }, "\(finished)")
    }

    /// The outcomes, sorted by manifest and entry.
    var outcomes: [String] {
        lines.sorted { ($0.manifest, $0.position) < ($1.manifest, $1.position) }.map(\.outcome)
    }

    private func checkAgreement() {
        let counts = Dictionary(grouping: lines, by: \.outcome).mapValues(\.count)
        let stated = [
            "fetched": summary.fetched, "revalidated": summary.revalidated,
            "cached": summary.cached, "coalesced": summary.coalesced,
            "skipped": summary.skipped, "failed": summary.failed,
            "unfinished": summary.unfinished, "unstored": summary.unstored,
            "pulled": summary.pulled, "shared": summary.shared,
        ]
        #expect(counts == stated.filter { $0.value > 0 }, "lines and summary disagree")
        #expect(lines.count == summary.icons)
        #expect(stated.values.reduce(0, +) == summary.icons)
        #expect(lines.count { $0.iconNumber == 1 } == summary.entries)
        let failures = lines.filter { $0.outcome == "failed" }.compactMap(\.error?.code)
        #expect(Dictionary(failures.map { ($0, 1) }, uniquingKeysWith: +) == summary.failures)
        let places = Set(lines.map { "\($0.manifest) \($0.position) \($0.iconNumber)" })
        #expect(places.count == lines.count, "an icon has two lines")
    }
}
