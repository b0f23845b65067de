import Foundation
import LarderTestSupport
import Testing

/// Commands with failing system calls below the cache: a single call, or it and all later ones.
///
/// Each command must exit with a documented status, lose no stored object, and leave a clean cache
/// that the next run completes. Optional work never changes the status: recording use, snapshots,
/// partial bodies, and the removal of leftovers.
///
/// `LARDER_FAULTS=all` tries every call of every kind in every way. Otherwise, `LARDER_FAULTS` is
/// the number of random faults for each command (default: 8). `LARDER_FAULT_SEED` repeats the
/// random choices. `LARDER_FAULT_COMMAND` selects a single command.
@Suite struct FaultTests {
    private static let commands: [FaultCommand] = {
        let name = ProcessInfo.processInfo.environment["LARDER_FAULT_COMMAND"]
        return name.map { [FaultCommand(rawValue: $0)].compactMap { $0 } } ?? FaultCommand.allCases
    }()

    @Test(
        .enabled(if: FaultShim.isPossible, "preloading a library needs Linux"),
        .timeLimit(.minutes(600)), arguments: commands)
    func aFailingCallBreaksNoPromise(_ command: FaultCommand) async throws {
        let setting = ProcessInfo.processInfo.environment["LARDER_FAULTS"]
        let seed = testSetting("LARDER_FAULT_SEED")
        let tally = try await onThreadOfItsOwn {
            try withTemporaryDirectory { directory in
                let scene = try FaultScene(command, in: directory)
                return setting == "all"
                    ? FaultTally.ofAll(in: scene)
                    : FaultTally(
                        ofSome: setting.flatMap(Int.init) ?? max(2, share(of: 8)), in: scene,
                        seed: seed ?? .random(in: 0..<1 << 32))
            }
        }
        print("\(command): \(tally)")
        for failure in tally.failures { Issue.record("\(failure)") }
        #expect(tally.reached > 0)
    }
}
