import Foundation
import LarderTestSupport
import Testing

/// `verify`: the kinds of findings, and which of them are damage.
@Suite struct VerifyTests {
    struct Report: Decodable {
        struct Finding: Decodable, Equatable {
            let kind: String
            let subject: String
            let urls: [String]
        }

        let clean: Bool
        let objects: Int
        let whole: Int
        let resources: Int
        let corrupt: Int
        let missing: Int
        let orphaned: Int
        let foreign: Int
        let misplaced: Int
        let findings: [Finding]
    }

    @Test func anIntactCacheIsClean() async throws {
        try await withFilledCache { larder, _ in
            let (status, report) = try verify(larder)
            #expect(status == 0)
            #expect(report.clean && report.findings.isEmpty)
            #expect(report.objects == 3 && report.whole == 3 && report.resources == 3)
            let text = try larder.run("verify").standardOutput
            #expect(text.hasPrefix("3 objects, ") && text.hasSuffix("\nclean\n"), "\(text)")
        }
    }

    @Test func anObjectWithChangedBytesIsCorrupt() async throws {
        try await withFilledCache { larder, urls in
            let path = try larder.objectPath(urls[1])
            var bytes = Icons.icon(1)
            bytes[3] ^= 0x20
            try larder.overwrite(path, with: bytes)
            let (status, report) = try verify(larder)
            #expect(status == 2)
            #expect(!report.clean && report.corrupt == 1 && report.whole == 2)
            let subject = String(path.dropFirst(larder.cache.count + 1))
            #expect(report.findings == [.init(kind: "corrupt", subject: subject, urls: [urls[1]])])
            let text = try larder.run("verify").standardOutput
            #expect(text.hasPrefix("corrupt: \(subject): "), "\(text)")
            #expect(text.contains("\n    \(urls[1])\n"), "\(text)")
            #expect(text.hasSuffix("\nproblems found\n"))
        }
    }

    @Test func aDeletedObjectIsMissing() async throws {
        try await withFilledCache { larder, urls in
            let path = try larder.objectPath(urls[2])
            try FileManager.default.removeItem(atPath: path)
            let (status, report) = try verify(larder)
            #expect(status == 2)
            #expect(report.missing == 1 && report.corrupt == 0 && report.whole == 2)
            #expect(report.findings.map(\.urls) == [[urls[2]]])
            // The next prefetch downloads it again.
            #expect(try larder.prefetch(larder.directory.path("apps.json")).summary.fetched == 1)
            #expect(try larder.verify() == 0)
        }
    }

    @Test func anObjectWithoutARowIsOrphaned() async throws {
        try await withFilledCache { larder, _ in
            let bytes = Icons.icon(77)
            let hex = ReferenceSHA256.hex(bytes)
            let fanOut = larder.cache + "/objects/sha256/\(hex.prefix(2))"
            try FileManager.default.createDirectory(
                atPath: fanOut, withIntermediateDirectories: true)
            try Data(bytes).write(to: URL(fileURLWithPath: "\(fanOut)/\(hex)"))
            let (status, report) = try verify(larder)
            #expect(status == 0)
            #expect(report.clean && report.orphaned == 1 && report.whole == 3)
        }
    }

    @Test func anUnrelatedFileIsForeign() async throws {
        try await withFilledCache { larder, urls in
            let fanOut = URL(fileURLWithPath: try larder.objectPath(urls[0]))
                .deletingLastPathComponent()
            try Data("mine".utf8).write(to: fanOut.appendingPathComponent("notes.txt"))
            let (status, report) = try verify(larder)
            #expect(status == 0)
            #expect(report.clean && report.foreign == 1)
            #expect(report.findings.first?.subject.hasSuffix("/notes.txt") == true)
        }
    }

    @Test func everyFindingIsReported() async throws {
        try await withFilledCache { larder, urls in
            try larder.overwrite(try larder.objectPath(urls[0]), with: [1, 2, 3])
            try FileManager.default.removeItem(atPath: larder.objectPath(urls[1]))
            let (status, report) = try verify(larder)
            #expect(status == 2)
            #expect(Set(report.findings.map(\.kind)) == ["corrupt", "missing"])
            #expect(report.whole == 1)
        }
    }

    @Test func aDamagedIndexIsReported() async throws {
        try await withFilledCache { larder, _ in
            let index = larder.cache + "/index.sqlite"
            try Data(repeating: 0x5A, count: 32_768).write(to: URL(fileURLWithPath: index))
            let (status, report) = try verify(larder)
            #expect(status == 2)
            #expect(report.findings.map(\.kind) == ["index"])
            #expect(report.findings.map(\.subject) == ["index.sqlite"])
            #expect(report.whole == 3)
            let finished = try larder.run("verify", "--repair")
            #expect(finished.status == 2, "\(finished)")
            #expect(finished.standardError.contains("repair failed: \(index)"))
        }
    }

    @Test(.enabled(if: Nobody.isPossible, "requires setpriv, or a user other than root"))
    func anUnreadableObjectIsNotReportedAsCorrupt() async throws {
        try await withFilledCache { larder, urls in
            let path = try larder.objectPath(urls[0])
            chmod(path, 0)
            chmod(larder.directory.path, 0o755)
            let finished = try Nobody.run(
                larder.binary, ["verify", "--json", "--cache", larder.cache])
            let report = try JSONDecoder().decode(
                Report.self, from: finished.standardOutputBytes)
            #expect(finished.status == 2, "\(finished)")
            #expect(report.findings.map(\.kind) == ["unreadable"])
            #expect(report.findings.map(\.urls) == [[urls[0]]])
            #expect(report.whole == 2)
        }
    }

    private func withFilledCache(_ body: (CLIFixture, [String]) throws -> Void) async throws {
        try await withFixture { larder in
            let urls = larder.origin.serveIcons(3)
            #expect(try larder.prefetch(try larder.manifest(urls: urls)).status == 0)
            try body(larder, urls)
        }
    }

    private func verify(_ larder: CLIFixture) throws -> (Int32, Report) {
        let finished = try larder.run("verify", "--json")
        let report = try JSONDecoder().decode(Report.self, from: finished.standardOutputBytes)
        return (finished.status, report)
    }
}
