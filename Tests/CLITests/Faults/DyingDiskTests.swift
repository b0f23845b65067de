import Foundation
import LarderTestSupport
import Testing

/// A disk that fails in mid-run, for good: what was done until then is told all the same, with why
/// it ended.
@Suite(.enabled(if: FaultShim.isPossible)) struct DyingDiskTests {
    /// More than two batches.
    private static let icons = 1_100

    /// What every command's summary has.
    private struct Summary: Decodable {
        struct Problem: Decodable { let code: String }
        let error: Problem?
        let interrupted: Bool
    }

    @Test(arguments: ["prefetch", "evict", "verify"]) func whatWasDoneIsTold(_ command: String)
        async throws
    {
        try await withFixture { larder in
            let manifest = try larder.manifest(urls: larder.origin.serveIcons(Self.icons))
            var arguments = [command]
            // What fails: to put a body in its place, a commit, to remember where a verification
            // got to.
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
                // It goes on where one has been, and another part's is kept.
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

    /// SQLite calls an index corrupt whose bytes the disk does not give: it would be rebuilt from
    /// its last snapshot.
    @Test(
        arguments: share(of: [
            "prefetch", "evict", "verify", "snapshot", "status", "list", "reindex", "pin",
        ]))
    func whatCannotBeReadIsNotDamaged(_ command: String) async throws {
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
                // Objects that cannot be read are found; what is only best done fails without a
                // word.
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

    /// SQLite opens for reading what it cannot open for writing: as it opens an index whose head
    /// says so, which is damage.
    @Test func whatCannotBeOpenedOnceIsNotDamaged() async throws {
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

    /// What connections to an index share is mapped from the disk: once that has failed, a store
    /// into a page that was written down meanwhile has nowhere to go.
    @Test(arguments: LoopDisk.Kind.allCases.filter(LoopDisk.isPossible))
    func aStoreIntoSharedMemoryEndsNoRun(_ kind: LoopDisk.Kind) async throws {
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
            // More than may wait for a commit: one is done, and the next begins with a store.
            try await larder.origin.waitForRequests(Self.icons + 6)
            // The page is written down, and made read-only until the next store.
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
