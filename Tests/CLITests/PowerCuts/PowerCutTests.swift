import Foundation
import LarderTestSupport
import Testing

/// Power cuts at random points of a prefetch, and sometimes of a repair, an eviction or a reindex.
/// Icons that a report listed as stored must exist afterwards, and no row may be broken.
///
/// `LARDER_POWER_CUTS` sets the number of cuts on each file system (default: 4).
/// `LARDER_POWER_CUT_SEED` repeats the random choices of a run.
@Suite(.serialized) struct PowerCutTests {
    @Test(
        .timeLimit(.minutes(120)),
        .enabled("loop disks need root on Linux, loop devices, mkfs.ext4 and mkfs.xfs") {
            LoopDisk.Kind.allCases.allSatisfy(LoopDisk.isPossible)
        },
        arguments: LoopDisk.Kind.allCases)
    func aPowerCutBreaksNoPromise(_ kind: LoopDisk.Kind) async throws {
        let cuts = testSetting("LARDER_POWER_CUTS") ?? share(of: 4)
        let seed = testSetting("LARDER_POWER_CUT_SEED") ?? .random(in: 0..<1 << 32)
        let tally = try await onThreadOfItsOwn {
            try withTemporaryDirectory { directory in
                var scene = try PowerCutScene(kind, in: directory)
                for round in 0..<cuts {
                    var random = Pseudorandom(seed: seed &+ round)
                    do { try scene.cut(using: &random) } catch {
                        scene.record("seed \(seed), cut \(round): \(error)")
                    }
                }
                return scene.tally
            }
        }
        print("\(kind), seed \(seed): \(tally)")
        for failure in tally.failures { Issue.record("\(failure)") }
        #expect(tally.cuts + tally.failures.count == cuts)
        // Cuts far from any commit would prove nothing.
        if cuts >= 50 { #expect(tally.insideCommits + tally.betweenCommits > cuts / 10) }
    }
}
