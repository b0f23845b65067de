import Foundation
import LarderTestSupport
import Testing

@testable import LarderManifest

/// The table of shapes in `docs/manifests.md`, compared with `ManifestShape.table`.
@Suite struct ManifestPageTests {
    private let table: OutputDocument.Table

    init() throws {
        table = try OutputDocument("manifests").table("Shapes that are recognised", "shape")
    }

    /// Returns the row of a shape on the page. Variants of a shape share a row.
    private func row(_ shape: ManifestShape) -> String {
        if shape.name.hasPrefix("list with ") {
            return table.words.first { $0.hasPrefix("list with …") } ?? shape.name
        }
        return shape.name.replacing(/\ without .+/, with: "")
    }

    private func shapes(_ row: String) -> [ManifestShape] {
        ManifestShape.table.filter { self.row($0) == row }
    }

    @Test func thePageListsEveryShapeInOrder() {
        var rows: [String] = []
        for shape in ManifestShape.table where rows.last != row(shape) { rows.append(row(shape)) }
        #expect(table.words == rows)
    }

    @Test func thePageShowsWhereEachShapeHasItsEntries() throws {
        for row in table.words {
            let text = try #require(table.cell(row, "entries"))
            let spans = table.code(row, "entries")
            for shape in shapes(row) {
                for path in shape.entries {
                    switch "\(path)" {
                    case "@": #expect(text.hasPrefix("the manifest itself"), "\(row)")
                    case "[*]": #expect(text.contains("a top-level array"), "\(row)")
                    case "*": #expect(text.contains("a top-level dictionary"), "\(row)")
                    case let path where path.contains("_localized"):
                        #expect(text.contains("localized ones"), "\(row)")
                    case let path: #expect(spans.contains(path), "\(row)")
                    }
                }
                let base = shape.base.map { ["\($0)"] } ?? []
                let known = Set(shape.entries.map { "\($0)" } + base)
                #expect(known.isSuperset(of: spans), "\(row): \(spans)")
                #expect(base.allSatisfy(spans.contains), "\(row)")
            }
        }
    }

    @Test func thePageShowsWhereEachShapeHasItsNames() throws {
        for row in table.words {
            for shape in shapes(row) {
                #expect(table.code(row, "name") == shape.names.map { "\($0)" }, "\(row)")
            }
        }
    }

    @Test func thePageShowsWhereEachShapeHasItsIcons() throws {
        for row in table.words {
            // A span that begins with a slash is part of a URL. Digests and sizes are not icons.
            let spans = table.code(row, "icons")
                .filter { !$0.hasPrefix("/") && !["sha256", "size"].contains($0) }
            #expect(spans == shapes(row).flatMap { $0.icons.map { "\($0.path)" } }, "\(row)")
        }
    }

    @Test func theOutputPageListsEveryManifestFormat() throws {
        let document = try OutputDocument()
        let formats = try document.table("Lines of plan --explain --json")
        #expect(formats.code("format", "meaning") == ManifestFormat.allCases.map(\.rawValue))
    }
}
