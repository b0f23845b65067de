import LarderExport
import Testing

@Suite struct ExportLayoutTests {
    @Test(arguments: [
        ("icons", true), ("com.example.Icons", true), (".hidden", true), ("a b", true),
        ("Bücher", true), ("...", true), (String(repeating: "a", count: 255), true),
        ("", false), (".", false), ("..", false), ("a/b", false), ("/", false), ("../a", false),
        ("a\0b", false), ("a\nb", false), ("\u{7F}", false),
        (String(repeating: "é", count: 128), false),
    ])
    func aFolderNameIsASinglePathComponent(_ name: String, _ isFolder: Bool) {
        #expect(ExportLayout.isFolder(name) == isFolder)
    }

    /// Layout names are option values and appear in the output.
    @Test func layoutNamesAreLowercase() {
        for name in ExportLayout.allCases.map(\.rawValue) {
            #expect(name == name.lowercased() && !name.isEmpty)
        }
    }
}
