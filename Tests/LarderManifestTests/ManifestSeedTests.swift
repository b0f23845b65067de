import Foundation
import Testing

@testable import LarderManifest

/// What the fuzzer begins with and what it has found, read to the end. `Scripts/fuzz` looks for
/// more.
@Suite(.timeLimit(.minutes(1))) struct ManifestSeedTests {
    private static let seeds = URL(fileURLWithPath: #filePath)
        .deletingLastPathComponent().appendingPathComponent("../../Fuzz/Seeds")

    private static func names(of target: String) -> [String] {
        let path = seeds.appendingPathComponent(target).path
        return ((try? FileManager.default.contentsOfDirectory(atPath: path)) ?? []).sorted()
    }

    private func bytes(_ target: String, _ name: String) throws -> [UInt8] {
        Array(try Data(contentsOf: Self.seeds.appendingPathComponent("\(target)/\(name)")))
    }

    @Test(arguments: ["manifests"]) func thereAreSeeds(target: String) {
        #expect(!Self.names(of: target).isEmpty)
    }

    /// From memory and through a pipe alike, and never with another error than its own.
    @Test(arguments: names(of: "manifests")) func manifest(name: String) throws {
        var bytes = try bytes("manifests", name)
        // The fuzzer's own first line, with places.
        if bytes.first == UInt8(ascii: "?") {
            bytes.removeFirst(bytes.prefix { $0 != 0x0A }.count + 1)
        }
        let pipe = Pipe()
        pipe.fileHandleForWriting.write(Data(bytes))
        try pipe.fileHandleForWriting.close()
        let piped = ManifestSource.descriptor(
            pipe.fileHandleForReading.fileDescriptor, name: "seed")
        #expect(try words(piped) == words(.bytes(bytes, name: "seed")))
    }

    private func words(_ source: ManifestSource) throws -> [String] {
        do {
            return try readManifest(source).words
        } catch let error as ManifestError {
            return [error.description]
        }
    }
}
