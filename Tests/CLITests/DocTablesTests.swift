import Foundation
import LarderCache
import LarderHTTP
import LarderTestSupport
import Testing

@testable import LarderImages
@testable import LarderManifest
@testable import LarderPrefetch
@testable import larder

/// The tables in `docs` whose rows are defined by the code. Each table is between a line
/// `<!-- table: NAME -->` and an empty line.
///
/// `Scripts/docs` runs this test to write the tables, and `Scripts/docs --check` to compare them.
@Suite struct DocTablesTests {
    private static let root = URL(fileURLWithPath: #filePath)
        .deletingLastPathComponent().deletingLastPathComponent().deletingLastPathComponent()

    /// A cell after the first one, which is the key of the row.
    private enum Cell {
        case text(String)
        /// The text on the page, because meanings are written by hand.
        case kept
        /// The text on the page, with a plus sign before it or without.
        case marked(Bool)
    }

    private typealias Row = (key: String, cells: [Cell])

    @Test(arguments: ["output", "network", "architecture"])
    func tablesInTheDocumentationMatchTheCode(page: String) throws {
        let file = Self.root.appendingPathComponent("docs/\(page).md")
        let text = try String(contentsOf: file, encoding: .utf8)
        var lines = text.components(separatedBy: "\n")
        var names: [String] = []
        while let start = lines.indices.first(where: {
            lines[$0].hasPrefix("<!-- table: ") && !names.contains(Self.name(lines[$0]))
        }) {
            let name = Self.name(lines[start])
            names.append(name)
            // Skips the marker, an empty line, the header row and the delimiter row.
            let first = start + 4
            let end = lines[first...].firstIndex { !$0.hasPrefix("|") } ?? lines.endIndex
            let rows = try #require(try Self.tables()[name], "unknown table: \(name)")
            let updated = Self.rendered(rows, keeping: lines[first..<end])
            lines.replaceSubrange(first..<end, with: updated)
        }
        #expect(!names.isEmpty)
        #expect(
            !lines.contains { $0.contains("| ? |") }, "replace the question mark with a meaning")
        let result = lines.joined(separator: "\n")
        if ProcessInfo.processInfo.environment["LARDER_WRITE_TABLES"] != nil {
            try Data(result.utf8).write(to: file)
        } else {
            #expect(result == text, "run Scripts/docs to update docs/\(page).md")
        }
    }

    private static func name(_ marker: String) -> String {
        marker.split(separator: " ").dropFirst(2).first.map(String.init) ?? ""
    }

    private static func rendered(_ rows: [Row], keeping old: ArraySlice<String>) -> [String] {
        let cells = old.map { line in
            // No cell contains a vertical bar.
            line.dropFirst().dropLast().split(separator: "|", omittingEmptySubsequences: false)
                .map { $0.trimmingCharacters(in: .whitespaces) }
        }
        let known = Dictionary(cells.map { ($0[0], $0) }) { first, _ in first }
        return rows.map { row in
            let cells = row.cells.enumerated().map { column, cell in
                if case .text(let text) = cell { return text }
                let old = known[row.key]?[column + 1] ?? "?"
                guard case .marked(let isMarked) = cell else { return old }
                let meaning = old.hasPrefix("+ ") ? String(old.dropFirst(2)) : old
                return isMarked ? "+ " + meaning : meaning
            }
            return "| " + ([row.key] + cells).joined(separator: " | ") + " |"
        }
    }

    // MARK: The tables

    private static func tables() throws -> [String: [Row]] {
        [
            "outcomes": described(EntryResult.Outcome.allCases.map(\.rawValue)),
            "exit-statuses": described(
                larder.ExitStatus.list.matches(of: /(?m)^  (\d+)/).map { String($0.output.1) }),
            "entry-codes": described(
                ["no-icon"] + IconValue.Kind.unfetched.map(\.rawValue)
                    + EntryError.Code.allCases.map(\.rawValue)
                    + [EntryFailure.offline.code, EntryFailure.notFailedBefore.code]),
            "transfer-codes": transferCodes,
            "body-codes": described(
                ImageError.Code.allCases.map(\.rawValue) + bodyReasons.map(\.rawValue)),
            "remote-codes": described(RemoteError.Code.allCases.map(\.rawValue)),
            "cache-codes": CacheError.Code.allCases.map {
                (code($0.rawValue), [.text("\(larder.ExitStatus($0).rawValue)"), .kept])
            },
            "retried-statuses": RetryPolicy.retriedStatuses.sorted().map { status in
                let ceiling = RetryPolicy().ceiling(
                    afterFailures: 1, isOverload: RetryPolicy.overloadStatuses.contains(status))
                return (code("\(status)"), [.text(String(format: "%g s", ceiling / .seconds(1)))])
            },
            "modules": try modules(),
        ]
    }

    private static func code(_ text: String) -> String { "`\(text)`" }

    private static func described(_ words: [String]) -> [Row] {
        words.map { (code($0), [.kept]) }
    }

    /// The reasons for refusing the bytes of a body, other than image errors.
    private static let bodyReasons: [ResourceFailure.Reason] = [.integrity, .size]

    private static var transferCodes: [Row] {
        let transfers: [(String, Bool)] = TransferError.Code.allCases.map {
            ($0.rawValue, ResourceFailure(TransferError($0, "")).isTransient)
        }
        let others: [(String, Bool)] = ResourceFailure.Reason.allCases.filter {
            !bodyReasons.contains($0)
        }
        .filter { reason in !transfers.contains { $0.0 == reason.rawValue } }
        .map { ($0.rawValue, ResourceFailure($0, "").isTransient) }
        return (transfers + others).map { (code($0.0), [.marked($0.1)]) }
            + described(["http-<status>"])
    }

    /// Returns the modules and the imports that Package.swift allows them.
    private static func modules() throws -> [Row] {
        let package = try String(
            contentsOf: root.appendingPathComponent("Package.swift"), encoding: .utf8)
        let systems = [
            "CXML2": "libxml2", "CYAML": "libyaml", "CCurl": "libcurl", "CZlib": "zlib",
        ]
        return package.components(separatedBy: "arget(").dropFirst().compactMap { target in
            let words = target.matches(of: /"([\w.-]+)"/).map { String($0.output.1) }
            let packages = target.matches(of: /package: "([\w.-]+)"/).map { String($0.output.1) }
            let rehearsal = "Benchmarks/Rehearsal"
            let name = words[0]
            let isModule =
                name.hasPrefix("Larder") && !name.contains("Test") || name == "LarderTesting"
            guard isModule || name == "larder" || target.contains(rehearsal) else { return nil }
            let path = isModule ? name : name == "larder" ? "CLI" : rehearsal
            let modules = words.dropFirst().filter { $0.hasPrefix("Larder") }.map {
                $0.dropFirst(6)
            }
            let imports =
                name == "larder"
                ? ["all"] : modules.map(String.init) + words.compactMap { systems[$0] }
            var seen: Set<String> = []
            let all = (imports + packages).filter { seen.insert($0).inserted }
            return (code(path), [.kept, .text(all.joined(separator: ", "))])
        }
    }
}
