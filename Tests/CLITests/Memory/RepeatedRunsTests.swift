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
            try #require(resident.count == 20)
            // The allocator's reserve grows by less and less, by about 1 MB in the second half. A
            // leak adds up: the bodies of 300 icons alone would add ten megabytes.
            let growth = try #require(resident[10...].max()) - resident[9]
            #expect(growth < 4_000_000, "\(part): \(resident)")
        }
    }
}
