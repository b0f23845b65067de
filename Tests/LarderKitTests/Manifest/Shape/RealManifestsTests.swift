import Foundation
import Testing

@testable import LarderKit

private let directory = ProcessInfo.processInfo.environment["LARDER_REAL_MANIFESTS"]

/// Real manifests against the table of their INDEX.md, in the directory that
/// `LARDER_REAL_MANIFESTS` names.
@Suite struct RealManifestsTests {
    /// A row of the table: file, entries, URLs.
    struct Row: Sendable {
        let file: String
        let entries: Int
        let urls: Int
    }

    static func rows() throws -> [Row] {
        let index = try String(contentsOfFile: "\(directory ?? ".")/INDEX.md", encoding: .utf8)
        return index.split(separator: "\n").compactMap { line in
            let cells = line.split(separator: "|").map { $0.trimmingCharacters(in: .whitespaces) }
            guard cells.count > 3, let entries = Int(cells[2]), let urls = Int(cells[3]) else {
                return nil
            }
            return Row(file: cells[0], entries: entries, urls: urls)
        }
    }

    @Test(.enabled(if: directory != nil)) func haveWhatTheirIndexSays() throws {
        let rows = try Self.rows()
        #expect(!rows.isEmpty)
        for row in rows {
            let source = ManifestSource.file("\(directory ?? ".")/\(row.file)")
            guard row.entries > 0 else {
                #expect(try manifestError(source) != nil, "\(row.file)")
                continue
            }
            let reading = try readManifest(source, base: "https://base.example/")
            #expect(reading.summary?.entries == row.entries, "\(row.file)")
            // An icon of a scheme that is not fetched is one, too.
            let others = reading.errors.count { $0.code == .unsupportedScheme }
            let urls = Set(reading.entries.map(\.icon)).count + others
            #expect(urls == row.urls, "\(row.file)")
        }
    }
}
