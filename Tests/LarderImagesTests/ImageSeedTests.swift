import Foundation
import Testing

@testable import LarderImages

/// The fuzzer's seeds and findings, inspected without a crash or a hang. `Scripts/fuzz` looks for
/// more.
@Suite(.timeLimit(.minutes(1))) struct ImageSeedTests: ImageTests {
    private static let seeds = URL(fileURLWithPath: #filePath)
        .deletingLastPathComponent().appendingPathComponent("../../Fuzz/Seeds")

    private static func names(of target: String) -> [String] {
        let path = seeds.appendingPathComponent(target).path
        return ((try? FileManager.default.contentsOfDirectory(atPath: path)) ?? []).sorted()
    }

    private func bytes(_ target: String, _ name: String) throws -> [UInt8] {
        Array(try Data(contentsOf: Self.seeds.appendingPathComponent("\(target)/\(name)")))
    }

    @Test(arguments: ["images", "svg"]) func eachFuzzTargetHasSeeds(target: String) {
        #expect(!Self.names(of: target).isEmpty)
    }

    @Test(
        arguments: ["images", "svg"].flatMap { target in names(of: target).map { (target, $0) } })
    func aFuzzSeedIsInspectedAtManyLengths(target: String, name: String) throws {
        let bytes = try bytes(target, name)
        for length in stride(from: bytes.count, through: 0, by: -max(1, bytes.count / 64)) {
            _ = fault(Array(bytes.prefix(length)))
        }
    }
}
