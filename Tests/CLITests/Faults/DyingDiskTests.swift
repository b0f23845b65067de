import Foundation
import LarderTestSupport
import Testing

/// A disk that fails permanently during a run. The command still reports the work that was done and
/// the error that ended it.
@Suite(.enabled(if: FaultShim.isPossible)) struct DyingDiskTests {
    /// More than two batches.
    private static let icons = 1_100

    /// The keys that every command's summary contains.
    private struct Summary: Decodable {
        struct Problem: Decodable { let code: String }
        let error: Problem?
        let interrupted: Bool
    }

    @Test(arguments: ["prefetch", "evict", "verify"]) func aDiskFailureEndsWithASummary(
        _ command: String
    )
        async throws
    {
        try await withFixture { larder in
            let manifest = try larder.manifest(urls: larder.origin.serveIcons(Self.icons))
            var arguments = [command]
            // The failing call publishes a body, commits a batch, or saves the position of a
            // verification.
            var (call, number) = (Fault.Call.fsync, 2)
            switch command {
            case "prefetch":
                (call, number) = (.rename, 600)
                let report = larder.directory.path("report.jsonl")
                arguments = Array(
                    larder.prefetchArguments([manifest], report: report).dropLast(2))
            case "evict":
                #expect(try larder.prefetch(manifest).status == 0)
                arguments += ["--max-count", "0", "--json"]
            default:
                #expect(try larder.prefetch(manifest).status == 0)
                // The verification resumes at a saved position and keeps that of another part.
                let none = String(repeating: "0", count: 62)
                try Data(#"{"1/2":"01\#(none)","all":"01\#(none)"}"#.utf8).write(
                    to: URL(fileURLWithPath: larder.cache + "/verify-position.json"))
                arguments += ["--max-duration", "1h", "--json"]
                (call, number) = (.rename, 1)
            }
            let fault = Fault(
                call: call, number: number,
                way: .init(errno: EIO, name: "EIO", isLasting: true))
            let log = larder.directory.path("reached")
            let finished = try larder.binary.run(
                arguments + ["--cache", larder.cache],
                environment: fault.environment(
                    FaultShim(in: larder.directory), root: larder.cache, log: log))
            #expect(FileManager.default.fileExists(atPath: log), "never reached")
            #expect(finished.status == 74, "\(finished)")
            let summary = try JSONDecoder().decode(
                Summary.self, from: finished.standardOutputBytes)
            #expect(summary.error?.code == "storage", "\(finished)")
            #expect(!summary.interrupted)
        }
    }

    /// SQLite reports an index as corrupt if the disk does not return its bytes. Such an index must
    /// not be rebuilt from its last snapshot.
    @Test(
        arguments: share(of: [
            "prefetch", "evict", "verify", "snapshot", "status", "list", "reindex", "pin",
        ]))
    func anUnreadableIndexIsNotTreatedAsDamaged(_ command: String) async throws {
        try await withFixture { larder in
            let urls = larder.origin.serveIcons(3)
            let manifest = try larder.manifest(urls: urls)
            #expect(try larder.prefetch(manifest).status == 0)
            var arguments = [command]
            switch command {
            case "prefetch":
                arguments += [
                    manifest, "--revalidate", "always", "--allow-private-network", "--json",
                ]
            case "evict": arguments += ["--max-count", "1", "--json"]
            case "verify": arguments += ["--json"]
            case "snapshot": arguments += [larder.directory.path("copy")]
            case "pin": arguments += [urls[0]]
            default: break
            }
            let shim = try FaultShim(in: larder.directory)
            let whole = larder.directory.path("whole")
            try FileManager.default.copyItem(atPath: larder.cache, toPath: whole)
            var statuses: Set<Int32> = []
            for number in [1, 2, 5, 8, 11, 14, 17, 20, 23, 26, 30, 35] {
                try FileManager.default.removeTree(atPath: larder.cache)
                try FileManager.default.copyItem(atPath: whole, toPath: larder.cache)
                let fault = Fault(
                    call: .read, number: number,
                    way: .init(errno: EIO, name: "EIO", isLasting: true))
                let log = larder.directory.path("reached-\(number)")
                let finished = try larder.binary.run(
                    arguments + ["--cache", larder.cache],
                    environment: fault.environment(shim, root: larder.cache, log: log))
                guard FileManager.default.fileExists(atPath: log) else { continue }
                statuses.insert(finished.status)
                // Unreadable objects are findings (2). Failures of optional work are silent (0).
                #expect([0, 2, 74].contains(finished.status), "\(fault): \(finished)")
                #expect(!finished.standardError.contains("rebuild"), "\(fault): \(finished)")
                let mark = larder.cache + "/index.damaged"
                #expect(!FileManager.default.fileExists(atPath: mark), "\(fault)")
                if finished.status == 74, arguments.contains("--json"),
                    !finished.standardOutput.isEmpty
                {
                    let summary = try JSONDecoder().decode(
                        Summary.self, from: finished.standardOutputBytes)
                    #expect(summary.error?.code == "storage", "\(fault): \(finished)")
                }
            }
            #expect(statuses.contains(74))
        }
    }

    /// If SQLite cannot open an index for writing, it opens it for reading. An index whose header
    /// says read-only opens in the same way, but is damaged.
    @Test func anIndexThatFailsToOpenOnceIsNotTreatedAsDamaged() async throws {
        try await withFixture { larder in
            let urls = larder.origin.serveIcons(3)
            #expect(try larder.prefetch(try larder.manifest(urls: urls)).status == 0)
            let shim = try FaultShim(in: larder.directory)
            var isReached = true
            var reached = 0
            for number in 1...200 where isReached {
                let fault = Fault(
                    call: .open, number: number,
                    way: .init(errno: EIO, name: "EIO", isLasting: false))
                let log = larder.directory.path("reached-\(number)")
                let finished = try larder.binary.run(
                    ["pin", urls[0], "--cache", larder.cache],
                    environment: fault.environment(shim, root: larder.cache, log: log))
                isReached = FileManager.default.fileExists(atPath: log)
                if isReached { reached = number }
                #expect([0, 74].contains(finished.status), "\(fault): \(finished)")
                #expect(!finished.standardError.contains("rebuil"), "\(fault): \(finished)")
                let mark = larder.cache + "/index.damaged"
                #expect(!FileManager.default.fileExists(atPath: mark), "\(fault)")
            }
            #expect(reached > 5)
        }
    }

    /// The memory that connections to an index share is mapped from the disk. After the disk has
    /// failed, a store into a page that was written back cannot succeed.
    @Test(arguments: LoopDisk.Kind.allCases.filter(LoopDisk.isPossible))
    func aStoreIntoSharedMemoryOfAFailedDiskDoesNotCrash(_ kind: LoopDisk.Kind) async throws {
        try await withFixture { larder in
            let disk = try LoopDisk(kind, at: larder.directory.path("disk"))
            let gate = try Gate()
            larder.origin.onAny { request in
                let number = Int(request.path.dropFirst()) ?? 0
                guard request.header("If-None-Match") == nil else {
                    return number < Self.icons ? .notModified : .notModified.heldBy(gate)
                }
                return Icons.reply(number)
                    .header("ETag", "\"1\"").header("Cache-Control", "max-age=0")
            }
            let manifest = try larder.manifest(
                urls: (0..<Self.icons + 6).map { larder.origin.url("/\($0)") })
            let arguments = [
                "prefetch", manifest, "--cache", disk.path + "/cache", "--allow-private-network",
                "--json",
            ]
            #expect(try larder.binary.run(arguments).status == 0)
            larder.origin.resetLog()
            let process = try larder.binary.start(arguments)
            // More icons than may wait for a commit. One commit is done, and the next one begins
            // with a store.
            try await larder.origin.waitForRequests(Self.icons + 6)
            // The page is written back, and is read-only until the next store.
            try disk.flush()
            disk.cutPower()
            gate.open()
            let finished = try process.wait()
            #expect(finished.status == 74, "\(finished)")
            let summary = try JSONDecoder().decode(
                Summary.self, from: finished.standardOutputBytes)
            #expect(summary.error?.code == "storage", "\(finished)")
            try disk.restart()
        }
    }
}
