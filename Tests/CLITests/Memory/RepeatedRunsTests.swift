import Foundation
import LarderTestSupport
import Testing

@Suite struct RepeatedRunsTests {
    @Test(.timeLimit(.minutes(30)), arguments: ["prefetch", "scroll", "verify"])
    func memoryDoesNotGrowWithRepetition(_ part: String) async throws {
        let origin = try Origin()
        origin.onAny { .ok(IconPainter.png(seed: $0.target.hashValue, size: 32)) }
        let urls = (0..<300).map { origin.url("/\($0)") }
        try await withTemporaryDirectory { directory in
            let run = try await onThreadOfItsOwn {
                try LarderBinary("repeated-runs").run(
                    [part, directory.path("cache")] + urls, timeout: 600)
            }
            try #require(run.status == 0, "\(run)")
            let resident = run.standardOutput.split(separator: "\n").compactMap { Int($0) }
            try #require(resident.count == 10)
            // The allocator's reserve grows during the first repetitions. A leak adds up: the bodies
            // of 300 icons alone are a megabyte for each repetition.
            let growth = try #require(resident[5...].max()) - resident[4]
            #expect(growth < 2_000_000, "\(part): \(resident)")
        }
    }
}
