import Foundation
import LarderTestSupport
import Testing

@testable import LarderExport

/// Exports to directories with a journal that an app wrote.
@Suite struct JournalTests {
    private static let layouts = ExportLayout.allCases.filter { $0.library?.journal != nil }
    private static let url = "https://a.example/icons/a.svg"

    /// The directory of a library's cache, as an app leaves it.
    private struct App {
        let scene: ExportScene
        let layout: ExportLayout
        let form: JournalForm
        let folder: String

        init(_ scene: ExportScene, _ layout: ExportLayout) throws {
            self.scene = scene
            self.layout = layout
            let keyed = try #require(layout.library)
            form = try #require(keyed.journal)
            folder = "\(scene.target)/\(keyed.folders[0])"
            try FileManager.default.createDirectory(
                atPath: folder, withIntermediateDirectories: true)
            try scene.store(ExportScene.icon(0), at: JournalTests.url)
        }

        func key(_ letter: Character) -> String { String(repeating: letter, count: 64) }

        /// Writes a journal. Replaces each letter with a key, and `+` with file sizes.
        func write(_ lines: String, name: String = "journal", header: String? = nil) throws {
            let text = lines.split(separator: "\n", omittingEmptySubsequences: false).map { line in
                var words = line.split(separator: " ").map(String.init)
                if words.count > 1, words[1].count == 1 { words[1] = key(Character(words[1])) }
                if words.last == "+" {
                    words.removeLast()
                    words += (0..<form.valueCount).map { "\($0 + 2)" }
                }
                return words.joined(separator: " ")
            }.joined(separator: "\n")
            try scene.overwrite(
                "\(folder)/\(name)", with: Array(((header ?? form.header) + text).utf8))
        }

        /// Writes the files of keys, with the sizes that replace `+`.
        func put(_ letters: String, unfinished: Bool = false) throws {
            for letter in letters {
                for index in 0..<form.valueCount {
                    let file = "\(folder)/\(key(letter)).\(index)\(unfinished ? ".tmp" : "")"
                    try scene.overwrite(file, with: [UInt8](repeating: 7, count: index + 2))
                }
            }
        }

        var names: Set<String> { Set(scene.files(in: folder).keys) }

        /// Returns the journal's order of use, as the letters of the app's keys and `*` for the
        /// exported icon.
        func order() throws -> String {
            let journal = try DiskLruJournal(
                at: folder, appVersion: form.appVersion, valueCount: form.valueCount)
            return String(
                journal.order.map { $0 == JournalTests.url.sha256Hex ? "*" : $0.first ?? "?" })
        }

        @discardableResult
        func export(prune: Bool = false) throws -> ExportReport {
            try scene.export(layout) { $0.isPruning = prune }
        }
    }

    private func withApp(
        _ layout: ExportLayout, _ body: (App) throws -> Void
    ) throws {
        try ExportScene.run { try body(try App($0, layout)) }
    }

    @Test(arguments: layouts) func theJournalKeepsItsOrderOfUse(_ layout: ExportLayout) throws {
        try withApp(layout) { app in
            try app.put("abcdef")
            try app.write(
                """
                DIRTY d
                CLEAN d +
                CLEAN b +
                CLEAN a +
                DIRTY c
                CLEAN c +
                READ b
                CLEAN e +
                REMOVE e
                READ d
                READ a

                """)
            try app.export()
            #expect(try app.order() == "cbda*")
            // A file without a line stays, but does not become an entry.
            #expect(app.names.contains("\(app.key("f")).0"))
            let journal = app.scene.files(in: app.folder)["journal"]
            try app.export()
            #expect(app.scene.files(in: app.folder)["journal"] == journal)
            // The exported entry keeps its place in the order, even if its bytes change.
            let handle = try #require(FileHandle(forWritingAtPath: "\(app.folder)/journal"))
            try handle.seekToEnd()
            try handle.write(contentsOf: Data("READ \(app.key("c"))\n".utf8))
            try handle.close()
            try app.scene.store(ExportScene.icon(1000), at: Self.url)
            try app.export()
            #expect(try app.order() == "bda*c")
            #expect(try app.export(prune: true).pruned == 6)
            #expect(try app.order() == "*")
        }
    }

    @Test(arguments: layouts) func unfinishedJournalEntriesAreRemoved(_ layout: ExportLayout) throws
    {
        try withApp(layout) { app in
            try app.put("abcd")
            try app.put("bcdx", unfinished: true)
            // b was complete before, and d was read while it was written.
            try app.write(
                """
                CLEAN a +
                CLEAN b +
                DIRTY b
                DIRTY c
                CLEAN d +
                DIRTY d
                READ d
                DIRTY z

                """)
            try app.export()
            #expect(try app.order() == "a*")
            let left = app.names.filter { !$0.hasPrefix(Self.url.sha256Hex) && $0 != "journal" }
            let own = ["a", "x"].flatMap { letter in
                (0..<app.form.valueCount).map {
                    "\(app.key(Character(letter))).\($0)\(letter == "x" ? ".tmp" : "")"
                }
            }
            // An unfinished file without a line stays.
            #expect(left == Set(own))
        }
    }

    /// The app was writing the exported icon when it stopped.
    @Test(arguments: layouts) func anUnfinishedEntryOfTheExportedIconIsReplaced(
        _ layout: ExportLayout
    ) throws {
        try withApp(layout) { app in
            try app.export()
            let key = Self.url.sha256Hex
            try app.scene.overwrite("\(app.folder)/\(key).0.tmp", with: [1])
            try app.write("CLEAN \(key) +\nDIRTY \(key)\n")
            #expect(try app.export().failed == 0)
            #expect(try app.order() == "*")
            #expect(!app.names.contains("\(key).0.tmp"))
        }
    }

    /// The library would delete all files of such a cache. The new journal lists only the exported
    /// icon.
    @Test(
        arguments: [
            "CLEAN a +\nWRITE b\n", "CLEAN a\n", "CLEAN a + 3\n", "CLEAN a x y\n",
            "CLEAN a -1 -1\n", "CLEAN a +\n\n", "CLEAN a +\nDIRTY ../../victim\n",
            "CLEAN a +\nDIRTY b 3\n", "CLEAN a +\nread a\n", "CLEAN A +\n",
            "CLEAN a +\n" + String(repeating: "x", count: 70_000) + "\n",
            "CLEAN a +\n" + String(repeating: "READ a\n", count: 3000) + "\u{0}\n",
        ], layouts)
    func aJournalThatTheLibraryRefusesIsReplaced(_ lines: String, _ layout: ExportLayout) throws {
        try withApp(layout) { app in
            try app.put("ab")
            let victim = app.scene.directory.path("victim.0")
            try app.scene.overwrite(victim, with: [1])
            try app.write(lines)
            try app.export()
            #expect(try app.order() == "*")
            #expect(FileManager.default.fileExists(atPath: victim))
            #expect(app.names.contains("\(app.key("a")).0"))
        }
    }

    @Test(arguments: layouts) func aJournalWithAnotherHeaderIsReplaced(_ layout: ExportLayout)
        throws
    {
        try withApp(layout) { app in
            try app.put("a")
            for header in [
                "", app.form.header.replacing("\n1\n", with: "\n2\n"),
                app.form.header.replacing("\n\n", with: "\n"),
                app.form.header.replacing("\n", with: "\r\n"),
            ] {
                try app.write("CLEAN a +\n", header: header)
                try app.export()
                #expect(try app.order() == "*")
            }
            try app.write("CLEAN a +\n")
            try app.export()
            #expect(try app.order() == "a*")
        }
    }

    /// The library ignores such a line, too.
    @Test(arguments: layouts) func aLastJournalLineWithoutALineFeedIsIgnored(_ layout: ExportLayout)
        throws
    {
        try withApp(layout) { app in
            try app.put("ab")
            try app.write("CLEAN a +\nCLEAN b +\nDIRTY b\nCLEAN b +")
            try app.export()
            #expect(try app.order() == "a*")
        }
    }

    @Test(arguments: layouts) func theJournalsBackupIsReadIfTheJournalIsMissing(
        _ layout: ExportLayout
    ) throws {
        try withApp(layout) { app in
            try app.put("ab")
            try app.write("CLEAN a +\n", name: "journal.bkp")
            try app.export()
            #expect(try app.order() == "a*")
            try app.write("CLEAN b +\n", name: "journal.bkp")
            try app.export()
            #expect(try app.order() == "a*")
        }
    }

    @Test(arguments: layouts) func journalEntriesWithoutFilesAreDropped(_ layout: ExportLayout)
        throws
    {
        try withApp(layout) { app in
            try app.put("ac")
            unlink("\(app.folder)/\(app.key("c")).\(app.form.valueCount - 1)")
            try app.write("CLEAN a +\nCLEAN b +\nCLEAN c +\nREAD d\n")
            try app.export()
            #expect(try app.order() == "a*")
        }
    }

    @Test func manyJournalEntriesKeepTheirOrder() throws {
        try withApp(.glide) { app in
            let keys = (0..<2100).map { "\($0)".sha256Hex }
            for key in keys { try app.scene.overwrite("\(app.folder)/\(key).0", with: [1]) }
            try app.write(keys.map { "CLEAN \($0) 1\n" }.joined() + "READ \(keys[7])\n")
            try app.export()
            let journal = try DiskLruJournal(at: app.folder, appVersion: 1, valueCount: 1)
            let others = keys[..<7] + keys[8...]
            #expect(journal.order == others + [keys[7], Self.url.sha256Hex])
        }
    }
}
