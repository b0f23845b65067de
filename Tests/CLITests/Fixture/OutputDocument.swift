import Foundation
import Testing

/// The tables of a page in `docs`.
struct OutputDocument {
    /// A table with its column headings, and its rows in order. A row whose first cell lists several
    /// names (`a`, `b`) counts as one row for each name.
    struct Table {
        let columns: [String]
        let rows: [(first: String, cells: [String])]
        /// The word in parentheses at the start of the last cell, by the row's name: a type, or
        /// `skipped`. If a row has several names, there is one word for all of them or one for each.
        let notes: [String: String]
        /// The cells with their markup.
        fileprivate let source: [[Substring]]

        /// The first column, in the document's order.
        var words: [String] { rows.map(\.first) }

        /// Returns a cell of the row with this first cell.
        func cell(_ first: String, _ column: String) -> String? {
            guard let index = columns.firstIndex(of: column) else { return nil }
            return rows.first { $0.first == first }?.cells[index]
        }

        /// Returns the code spans in a cell.
        func code(_ first: String, _ column: String) -> [String] {
            guard let index = columns.firstIndex(of: column),
                let row = rows.firstIndex(where: { $0.first == first })
            else { return [] }
            return source[row][index].matches(of: /`([^`]+)`/).map { String($0.output.1) }
        }
    }

    /// The tables by the heading of their section, then by the heading of their first column.
    private var tables: [String: [String: Table]] = [:]

    init(_ page: String = "output") throws {
        let file = URL(fileURLWithPath: #filePath).deletingLastPathComponent()
            .appendingPathComponent("../../../docs/\(page).md").standardizedFileURL
        var heading = ""
        var lines: [[Substring]] = []
        for line in try String(contentsOf: file, encoding: .utf8).components(separatedBy: "\n") {
            if line.hasPrefix("|") {
                let cells = line.split(separator: "|", omittingEmptySubsequences: false)
                lines.append(Array(cells.dropFirst().dropLast()))
                continue
            }
            if let head = lines.first?.map(Self.text) {
                // The second line separates the column headings from the rows.
                var source: [[Substring]] = []
                var notes: [String: String] = [:]
                for cells in lines.dropFirst(2) {
                    let note = cells.last?.firstMatch(of: /^ \(([a-z?, ]+)\)/)?.output.1
                    let words = note?.split(separator: ", ") ?? []
                    for (index, name) in cells[0].split(separator: "`, `").enumerated() {
                        source.append([name] + cells.dropFirst())
                        if let last = words.indices.last {
                            notes[Self.text(name)] = String(words[min(index, last)])
                        }
                    }
                }
                let rows = source.map { $0.map(Self.text) }.map { (first: $0[0], cells: $0) }
                tables[heading, default: [:]][head[0]] = Table(
                    columns: head, rows: rows, notes: notes, source: source)
                lines = []
            }
            if line.hasPrefix("#") {
                heading = line.drop { $0 == "#" || $0 == " " }.filter { $0 != "`" }
            }
        }
    }

    func table(_ heading: String, _ column: String = "key") throws -> Table {
        try #require(tables[heading]?[column], "no table '\(column)' below '\(heading)'")
    }

    private static func text(_ cell: Substring) -> String {
        cell.trimmingCharacters(in: .whitespaces).filter { $0 != "`" }
    }
}
