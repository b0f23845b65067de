import Foundation
import LarderTestSupport
import Testing

/// Real shortages, from a limit at which a command cannot run to one at which it completes. With
/// `LARDER_FAULTS=all`, every limit is tested, otherwise every fourth.
@Suite struct ShortageTests {
    @Test(
        .enabled(if: FaultShim.isPossible, "preloading a library needs Linux"),
        .timeLimit(.minutes(30)), arguments: share(of: FaultCommand.allCases))
    func aShortageOfFileDescriptorsLosesNothing(_ command: FaultCommand) async throws {
        let least = try await least(from: 8, through: 80, for: command) { scene, count in
            try scene.play(descriptors: count)
        }
        print("\(command) needs \(least) file descriptors")
    }

    @Test(
        .enabled(if: Mount.isPossible && FaultShim.isPossible, "mounting needs root on Linux"),
        .timeLimit(.minutes(30)))
    func aShortageOfDiskSpaceLosesNothing() async throws {
        let least = try await least(from: 2, through: 200, for: .cold) { scene, step in
            try scene.play(kilobytes: step * 8)
        }
        print("a first prefetch needs \(least * 8) kB")
    }

    /// Raises the limit until the command exits with 0, and returns that limit.
    private func least(
        from first: Int, through last: Int, for command: FaultCommand,
        _ play: @escaping @Sendable (FaultScene, Int) throws -> FaultScene.Outcome
    ) async throws -> Int {
        let least = try await onThreadOfItsOwn {
            try withTemporaryDirectory { directory in
                let scene = try FaultScene(command, in: directory)
                let isAll = ProcessInfo.processInfo.environment["LARDER_FAULTS"] == "all"
                return try stride(from: first, through: last, by: isAll ? 1 : 4).first {
                    try play(scene, $0) == .ended(status: 0)
                }
            }
        }
        return try #require(least)
    }

    @Test(
        .enabled("a loop disk needs root on Linux, loop devices and mkfs.ext4") {
            LoopDisk.isPossible(.ext4)
        })
    func aDiskThatTurnsReadOnlyKeepsStoredIcons() async throws {
        try await withFixture { larder in
            let disk = try LoopDisk(.ext4, at: larder.cache)
            let gate = try Gate()
            let urls = larder.origin.serveIcons(20)
            larder.origin.on("/0", Icons.reply(0).heldBy(gate))
            let report = larder.directory.path("report.jsonl")
            let process = try larder.startPrefetch(
                try larder.manifest(urls: urls), report: report, options: ["--max-per-host", "2"])
            try await larder.origin.waitForRequests(20)
            try disk.turnReadOnly()
            gate.open()
            let finished = try process.wait()
            #expect(finished.status == 74, "\(finished)")
            let stored = try KillReport(path: report).stored
            try disk.restart()
            #expect(try larder.verify() == 0)
            larder.origin.resetLog()
            let next = try larder.prefetch(try larder.manifest(urls: urls))
            #expect(next.status == 0, "\(next.finished)")
            #expect(next.summary.fetched <= urls.count - stored.count)
            let requested = Set(larder.origin.requests.map { larder.origin.url($0.path) })
            #expect(requested.isDisjoint(with: stored))
            #expect(try larder.temporaries().isEmpty)
        }
    }
}
