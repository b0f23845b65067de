import Foundation
import Testing

@testable import LarderManifest

/// Seeds of the fuzzer and inputs that it has found, read to the end. `Scripts/fuzz` searches for
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

    @Test(arguments: ["manifests"]) func theFuzzerHasSeeds(target: String) {
        #expect(!Self.names(of: target).isEmpty)
    }

    /// The result is the same from memory and through a pipe. Errors are always of the type
    /// `ManifestError`.
    @Test(arguments: names(of: "manifests")) func everyManifestOfTheFuzzerIsRead(name: String)
        throws
    {
        var bytes = try bytes("manifests", name)
        // The first line may have places for the fuzzer.
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
