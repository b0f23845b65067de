import Foundation
import GRDB
import LarderTestSupport
import Testing

/// Objects whose size differs from the index. Their digest decides whether they are intact.
@Suite(.timeLimit(.minutes(30))) struct StatedSizeTests {
    private static let statedSizes: [Int64] = [1, 100_000, 1 << 40]

    /// Sets the size of every object in an index.
    private func setSizes(to size: Int64, in cache: String) throws {
        try DatabaseQueue(path: "\(cache)/index.sqlite").write {
            try $0.execute(sql: "UPDATE objects SET size = ?", arguments: [size])
        }
    }

    @Test(arguments: statedSizes)
    func anIntactObjectIsReadDespiteAWrongSizeInTheIndex(_ size: Int64) async throws {
        try await withFixture { larder in
            let urls = larder.origin.serveIcons(3)
            #expect(try larder.prefetch(try larder.manifest(urls: urls)).status == 0)
            try setSizes(to: size, in: larder.cache)
            #expect(try larder.cat(urls[1]) == Icons.icon(1))
            #expect(try larder.run("path", urls[1]).status == 0)
            for layout in ["files", "nuke", "glide", "gallery"] {
                let target = larder.directory.path(layout)
                for _ in 0..<2 {
                    let finished = try larder.run("export", target, "--layout", layout)
                    #expect(finished.status == 0, "\(finished)")
                }
            }
            let serve = try ServeRun(larder)
            let client = try serve.client()
            for _ in 0..<2 {
                let reply = try client.get("/icon?url=\(urls[1])")
                #expect(reply.status == 200 && Array(reply.body) == Icons.icon(1))
            }
            try serve.stop()
            // The index of the snapshot has the right sizes.
            let copy = larder.directory.path("copy")
            #expect(try larder.run("snapshot", copy).status == 0)
            #expect(try larder.binary.run(["verify", "--cache", copy]).status == 0)
            for options in [["--quick"], []] {
                let verified = try larder.run(arguments: ["verify", "--json"] + options)
                #expect(verified.status == 2)
                #expect(verified.standardOutput.contains("\"corrupt\":0"), "\(verified)")
            }
            #expect(try larder.run("verify", "--quick", "--repair").status == 0)
            #expect(try larder.run("verify", "--quick").status == 0)
        }
    }

    @Test(.needsRclone, arguments: statedSizes)
    func anIntactObjectIsSharedDespiteAWrongSizeInTheIndex(_ size: Int64) async throws {
        try await withRemote { remote in
            let manifest = try remote.manifest(3)
            let fetched = try remote.larder.binary.run(
                ["prefetch", manifest, "--cache", remote.cache("one")] + remote.connections)
            #expect(fetched.status == 0, "\(fetched)")
            try setSizes(to: size, in: remote.cache("one"))
            let pushed = try await remote.run(["push", "--manifest", manifest], on: "one")
            #expect(pushed.status == 0, "\(pushed)")
            try await remote.expectSoundRemote(objects: 3, references: 3)
            let pulled = try await remote.run(["pull", "--manifest", manifest], on: "two")
            #expect(pulled.status == 0, "\(pulled)")
            try await remote.expectIcons(3, on: "two")
        }
    }

    @Test func aDamagedObjectIsFoundByItsSize() async throws {
        try await withFixture { larder in
            let urls = larder.origin.serveIcons(3)
            #expect(try larder.prefetch(try larder.manifest(urls: urls)).status == 0)
            let longer = [UInt8](repeating: 7, count: 99_999)
            try larder.overwrite(try larder.objectPath(urls[0]), with: longer)
            let verified = try larder.run("verify", "--json", "--quick")
            #expect(verified.status == 2)
            #expect(verified.standardOutput.contains("\"corrupt\":1"), "\(verified)")
            #expect(try larder.run("path", urls[0]).status == 2)
            let target = larder.directory.path("files")
            #expect(try larder.run("export", target, "--layout", "files").status == 2)
        }
    }
}
