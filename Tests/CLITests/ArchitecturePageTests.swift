import Foundation
import Testing

/// `docs/architecture.md` names every room, and its links lead to what they say.
@Suite struct ArchitecturePageTests {
    private static let root = URL(fileURLWithPath: #filePath)
        .deletingLastPathComponent().deletingLastPathComponent().deletingLastPathComponent()

    private func text(_ path: String) throws -> String {
        try String(contentsOf: Self.root.appendingPathComponent(path), encoding: .utf8)
    }

    @Test(arguments: [
        "LarderTransfer", "LarderCache", "LarderIcons", "LarderKit", "LarderRehearsal",
        "LarderServer", "LarderPresentation", "CLI",
    ])
    func everyRoomIsOnThePage(_ module: String) throws {
        let page = try text("docs/architecture.md")
        let folder = Self.root.appendingPathComponent("Sources/\(module)")
        let rooms = try FileManager.default.contentsOfDirectory(
            at: folder, includingPropertiesForKeys: [.isDirectoryKey])
        var found = 0
        for room in rooms
        where try room.resourceValues(forKeys: [.isDirectoryKey]).isDirectory == true
            && room.pathExtension != "docc"
        {
            let name = room.lastPathComponent
            #expect(page.contains("| [\(name)](../Sources/\(module)/\(name)) |"))
            found += 1
        }
        #expect(found > 1)
    }

    @Test func everyLinkLeadsToWhatItSays() throws {
        let page = try text("docs/architecture.md")
        var links = 0
        for match in page.matches(of: /\[`(\w+)(?:\.(\w+))?`\]\(\.\.\/([\w\/+]+\.swift)\)/) {
            links += 1
            let source = try text(String(match.output.3))
            #expect(source.contains("\(match.output.1)"))
            guard let function = match.output.2 else { continue }
            #expect(
                source.contains(function == "init" ? "init(" : "func \(function)("),
                "there is no \(function) in \(match.output.3)")
        }
        #expect(links > 20)
    }
}
