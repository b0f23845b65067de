import Foundation
import LarderTestSupport
import Testing

extension CLIFixture {
    /// Every command that opens a cache.
    private static func commands(_ manifest: String, _ url: String, _ copy: String) -> [[String]] {
        let network = ["--allow-private-network"]
        return [
            ["status"], ["list"], ["plan", manifest], ["path", url], ["cat", url], ["verify"],
            ["verify", "--repair"] + network, ["verify", "--manifest", manifest],
            ["evict", "--max-count", "1000"], ["evict", "--max-count", "0", "--dry-run"],
            ["pin", url], ["pin"], ["unpin", url], ["snapshot", copy], ["reindex"],
            ["prefetch", manifest] + network,
        ]
    }

    /// Makes a database's header claim 2^28 pages, and extends the file to that size as a sparse
    /// file.
    func stretch(_ database: String) throws {
        let file = try FileHandle(forUpdating: URL(fileURLWithPath: database))
        try file.seek(toOffset: 28)
        try file.write(contentsOf: [0x10, 0, 0, 0])
        try file.truncate(atOffset: 1 << 40)
        try file.close()
    }

    /// Runs each command, or the tests' share of them, on a new cache of three icons that `plant`
    /// has changed. Passes each command and its result to `body`.
    func forEachCommand(
        plant: () throws -> Void, _ body: ([String], Finished) throws -> Void
    ) throws {
        let urls = origin.serveIcons(3)
        let manifest = try manifest(urls: urls)
        try #require(try prefetch(manifest).status == 0)
        let whole = directory.path("whole")
        try FileManager.default.copyItem(atPath: cache, toPath: whole)
        for command in share(of: Self.commands(manifest, urls[0], directory.path("copy"))) {
            try FileManager.default.removeTree(atPath: cache)
            try FileManager.default.copyItem(atPath: whole, toPath: cache)
            try plant()
            try body(command, binary.run(command + ["--cache", cache], timeout: 120))
            try? FileManager.default.removeTree(atPath: directory.path("copy"))
        }
    }
}

extension Finished {
    /// Expects the documented result for an index whose tables are not larder's.
    func expectRefusalOrRepair(of command: [String]) {
        switch command[0] {
        case "prefetch", "reindex",
            "pin" where command != ["pin"]:
            #expect(status == 0, "\(command): \(self)")
        case "verify":
            #expect([1, 2].contains(status), "\(command): \(self)")
            let text = standardOutput + standardError
            #expect(text.contains("larder reindex"), "\(command): \(self)")
        default:
            #expect(status == 1, "\(command): \(self)")
            #expect(standardError.contains("larder reindex"), "\(command): \(self)")
        }
    }
}
