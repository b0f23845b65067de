import Foundation
import LarderTestSupport
import Testing

/// The peak memory of commands for manifests of different lengths.
@Suite struct MemoryTests {
    private enum Run: CaseIterable { case plan, cold, warm, exporting, importing }

    @Test(.isLong, .timeLimit(.minutes(30)))
    func memoryDoesNotGrowWithTheNumberOfEntries() async throws {
        let small = try await peaks(of: 10_000)
        let large = try await peaks(of: 100_000)
        for run in Run.allCases {
            let (few, many) = (try #require(small[run]), try #require(large[run]))
            #expect(Double(many) <= 1.2 * Double(few), "\(run): \(few) and \(many) bytes")
        }
    }

    /// Returns the peak memory of each run in bytes.
    private func peaks(of count: Int) async throws -> [Run: Int] {
        var peaks: [Run: Int] = [:]
        try await withFixture { larder in
            let replies = (0..<200).map {
                Icons.reply($0).header("Cache-Control", "max-age=86400")
            }
            larder.origin.onAny { request in
                replies[(Int(request.path.drop { !$0.isNumber }) ?? 0) % replies.count]
            }
            var lines: [UInt8] = []
            for number in 0..<count {
                let url = larder.origin.url("/icon-\(number)")
                lines += Array(#"{"name":"App \#(number)","icon":"\#(url)"}"#.utf8) + [0x0A]
            }
            let manifest = try larder.write(lines, to: "apps.jsonl")
            for run in Run.allCases {
                let files = [larder.directory.path("files"), "--layout", "files", "--manifest"]
                let command =
                    switch run {
                    case .plan: ["plan"]
                    case .cold, .warm: ["prefetch", "--quiet", "--allow-private-network"]
                    case .exporting: ["export"] + files
                    case .importing: ["import"] + files
                    }
                let cache = run == .importing ? larder.directory.path("copy") : larder.cache
                let finished = try await onThreadOfItsOwn {
                    try larder.binary.run(command + [manifest, "--cache", cache], timeout: 900)
                }
                #expect(finished.status == 0, "\(run): \(finished.standardError.suffix(500))")
                peaks[run] = finished.peakMemoryBytes
            }
            #expect(try larder.status().resources == count)
        }
        return peaks
    }
}
