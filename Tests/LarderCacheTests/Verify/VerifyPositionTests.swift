import Foundation
import LarderTestSupport
import Testing

@testable import LarderCache
@testable import LarderCore

/// Verifications of limited duration, which continue where the last one stopped.
@Suite struct VerifyPositionTests {
    private let file = "verify-position.json"

    private func withCache(_ body: (Cache, VerifyOptions) throws -> Void) throws {
        try withTemporaryDirectory { directory in
            var contents: [String: [UInt8]] = [:]
            for seed in 0..<300 { contents["\(seed)"] = noise(50, seed: seed) }
            let cache = try Cache.filled(at: directory.path, with: contents)
            try Tree.put([1], at: directory.path("objects/sha256/notes.txt"))
            var options = VerifyOptions()
            options.maximumDuration = .zero
            try body(cache, options)
        }
    }

    /// Repeats the verification until it reaches the end.
    private func verifyToTheEnd(_ cache: Cache, _ options: VerifyOptions) throws -> [VerifyReport] {
        var reports: [VerifyReport] = []
        repeat {
            reports.append(try cache.verify(options))
        } while reports.last?.reachesEnd == false && reports.count <= 256
        return reports
    }

    @Test func limitedVerificationsReadEveryObjectOnce() throws {
        try withCache { cache, options in
            unlink(try cache.file(of: noise(50, seed: 7)))
            for _ in 0..<2 {
                let reports = try verifyToTheEnd(cache, options)
                #expect(reports.count == 256)
                #expect(reports.map(\.whole).reduce(0, +) == 299)
                #expect(
                    reports.flatMap(\.findings).map(\.kind.rawValue).sorted() == [
                        "foreign", "missing",
                    ])
                #expect(!Tree.names(cache.path).contains(file))
            }
        }
    }

    @Test func aVerificationOfAPartIsResumed() throws {
        try withCache { cache, options in
            var options = options
            options.selection = .part(2, of: 3)
            let whole = try verifyToTheEnd(cache, options).map(\.whole).reduce(0, +)
            options.maximumDuration = nil
            #expect(try cache.verify(options).whole == whole)
            #expect((1..<300).contains(whole))
        }
    }

    /// A quick verification reads no bytes, so a thorough one must not skip its objects.
    @Test func quickAndThoroughVerificationsHaveSeparatePositions() throws {
        try withCache { cache, options in
            for _ in 0..<100 { _ = try cache.verify(options) }
            var quick = options
            quick.isQuick = true
            for _ in 0..<10 { _ = try cache.verify(quick) }
            #expect(try verifyToTheEnd(cache, options).count == 156)
            #expect(try verifyToTheEnd(cache, quick).count == 246)
            #expect(!Tree.names(cache.path).contains(file))
        }
    }

    @Test func aResumedVerificationIsNotComplete() throws {
        try withCache { cache, options in
            _ = try cache.verify(options)
            var rest = options
            rest.maximumDuration = .seconds(3600)
            let report = try cache.verify(rest)
            #expect(report.reachesEnd && report.isResumed && !report.isComplete)
            #expect(try cache.verify(rest).isComplete)
        }
    }

    @Test func anotherSelectionHasASeparatePosition() throws {
        try withCache { cache, options in
            for _ in 0..<100 { _ = try cache.verify(options) }
            var part = options
            part.selection = .part(1, of: 2)
            #expect(try verifyToTheEnd(cache, part).count == 128)
            #expect(try verifyToTheEnd(cache, options).count == 156)
        }
    }

    @Test(arguments: ["", "{", "{\"all\":300}", "{\"selection\":\"all\",\"next\":3}", "[]"])
    func anInvalidPositionFileIsIgnored(_ text: String) throws {
        try withCache { cache, options in
            try Tree.put(Array(text.utf8), at: "\(cache.path)/\(file)")
            #expect(try verifyToTheEnd(cache, options).count == 256)
        }
    }

    /// A slow thread leaves a gap. Directories finished after the gap are not verified again.
    @Test func directoriesVerifiedOutOfOrderAreNotVerifiedAgain() throws {
        try withCache { cache, options in
            let digest = try Digest.reference(of: noise(50, seed: 7))
            var position = VerifyPosition()
            for byte in UInt8.min...UInt8.max where byte != digest.bytes[0] {
                position.insert(byte)
            }
            try position.save(as: try #require(options.positionName), in: cache.directory)
            let report = try cache.verify(options)
            #expect(report.reachesEnd && report.isResumed)
            #expect(
                report.whole
                    == Tree.names(
                        (try cache.file(of: noise(50, seed: 7)) as NSString)
                            .deletingLastPathComponent
                    ).count)
            #expect((1..<20).contains(report.whole))
        }
    }

    @Test func aVerificationWithEnoughTimeIsComplete() throws {
        try withCache { cache, options in
            var options = options
            options.maximumDuration = .seconds(3600)
            let report = try cache.verify(options)
            #expect(report.isComplete && report.whole == 300)
            #expect(!Tree.names(cache.path).contains(file))
        }
    }
}
