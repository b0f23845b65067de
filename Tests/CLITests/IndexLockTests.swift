import Foundation
import GRDB
import LarderTestSupport
import Testing

/// Commands while another program, such as `sqlite3` in a transaction, locks the index.
@Suite(.timeLimit(.minutes(30))) struct IndexLockTests {
    private struct Lock {
        private let database: DatabaseQueue

        init(_ larder: CLIFixture, _ kind: String = "IMMEDIATE") throws {
            var configuration = Configuration()
            configuration.allowsUnsafeTransactions = true
            database = try DatabaseQueue(
                path: larder.cache + "/index.sqlite", configuration: configuration)
            try database.writeWithoutTransaction { try $0.execute(sql: "BEGIN \(kind)") }
        }

        func release() throws {
            try database.writeWithoutTransaction { try $0.execute(sql: "ROLLBACK") }
            try database.close()
        }
    }

    private func withFilledCache(_ body: (CLIFixture, [String]) async throws -> Void) async throws {
        try await withFixture { larder in
            let urls = larder.origin.serveIcons(3)
            #expect(try larder.prefetch(try larder.manifest(urls: urls)).status == 0)
            try await body(larder, urls)
        }
    }

    @Test(arguments: ["IMMEDIATE", "EXCLUSIVE"])
    func readersDoNotWaitForALockOnTheIndex(_ kind: String) async throws {
        try await withFilledCache { larder, urls in
            let lock = try Lock(larder, kind)
            for arguments in [
                ["status"], ["list"], ["path", urls[0]], ["cat", urls[1]], ["pin"], ["verify"],
                ["plan", larder.directory.path("apps.json")],
                ["snapshot", larder.directory.path("copy")],
            ] {
                let start = ContinuousClock.now
                let finished = try larder.run(arguments: arguments)
                #expect(finished.status == 0, "\(arguments): \(finished)")
                // A command that waited to record the use of an icon would take 30 seconds.
                #expect(ContinuousClock.now - start < .seconds(20), "\(arguments)")
            }
            try lock.release()
        }
    }

    @Test func commandsThatMustNotWaitExitWith75() async throws {
        try await withFilledCache { larder, urls in
            let lock = try Lock(larder)
            let other = try larder.manifest(
                urls: [larder.origin.url("/other")], name: "other.json")
            larder.origin.on("/other", Icons.reply(7))
            for arguments in [
                ["evict", "--max-count", "0", "--no-wait"], ["pin", urls[0], "--wait", "1s"],
                ["prefetch", other, "--allow-private-network", "--no-wait"],
            ] {
                let start = ContinuousClock.now
                let finished = try larder.run(arguments: arguments)
                #expect(finished.status == 75, "\(arguments): \(finished)")
                #expect(ContinuousClock.now - start < .seconds(25), "\(arguments)")
            }
            try lock.release()
            #expect(try larder.status().objects == 3)
        }
    }

    @Test(arguments: [["evict", "--max-count", "0"], ["pin", "http://a.example/"]])
    func aCommandThatWaitsForTheIndexSaysSo(_ arguments: [String]) async throws {
        try await withFilledCache { larder, _ in
            let lock = try Lock(larder)
            let errors = try ErrorPipe(at: larder.directory.path("errors"))
            let process = try errors.start(larder.binary, arguments + ["--cache", larder.cache])
            let index = "\(larder.cache)/index.sqlite"
            #expect(errors.wait(for: "waiting for \(index): another process is writing to it"))
            try lock.release()
            #expect(try process.wait().status == 0)
            withExtendedLifetime(errors) {}
        }
    }

    @Test func anInterruptEndsTheWaitForTheIndex() async throws {
        try await withFilledCache { larder, _ in
            let lock = try Lock(larder)
            let errors = try ErrorPipe(at: larder.directory.path("errors"))
            let process = try errors.start(
                larder.binary, ["evict", "--max-count", "0", "--cache", larder.cache])
            #expect(errors.wait(for: "waiting for "))
            process.kill(SIGINT)
            #expect(try process.wait(timeout: 60).status == 130)
            try lock.release()
            #expect(try larder.status().objects == 3)
            withExtendedLifetime(errors) {}
        }
    }
}
