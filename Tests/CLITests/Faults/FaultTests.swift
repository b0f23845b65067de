import Foundation
import LarderTestSupport
import Testing

/// Commands whose system calls beneath the cache fail, one at a time or from one on.
///
/// Each must end with the documented status, lose nothing that was stored, and leave a cache that
/// is clean and that the next run completes. What is only best done never changes a status:
/// recording use, snapshots, partial bodies, removing leftovers.
///
/// `LARDER_FAULTS=all` tries every call of every kind in every way, instead of `LARDER_FAULTS`
/// (default: 8) drawn at random for each command; `LARDER_FAULT_SEED` repeats the draw,
/// `LARDER_FAULT_COMMAND` names a single command.
@Suite struct FaultTests {
    private static let commands: [FaultCommand] = {
        let name = ProcessInfo.processInfo.environment["LARDER_FAULT_COMMAND"]
        return name.map { [FaultCommand(rawValue: $0)].compactMap { $0 } } ?? FaultCommand.allCases
    }()

    @Test(
        .enabled(if: FaultShim.isPossible, "preloading a library takes Linux"),
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
