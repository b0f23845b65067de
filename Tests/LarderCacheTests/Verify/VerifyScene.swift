import Foundation
import GRDB
import LarderTestSupport
import Testing

@testable import LarderCache

/// A cache of 30 objects, one of which a test damages.
struct VerifyScene {
    let root: String
    let cache: Cache
    let bytes = noise(5_000, seed: 0)
    let key = "http://a.example/victim"

    /// Runs `body` with a scene in a temporary directory.
    static func run(_ body: (VerifyScene) throws -> Void) throws {
        try withTemporaryDirectory { try body(try VerifyScene($0)) }
    }

    init(_ directory: TemporaryDirectory) throws {
        root = directory.path
        var contents = [key: bytes]
        for seed in 1..<30 { contents["http://a.example/\(seed)"] = noise(100, seed: seed) }
        cache = try Cache.filled(at: root, with: contents)
        #expect(try cache.verify().findings.isEmpty)
    }

    var file: String { get throws { try cache.file(of: bytes) } }
    /// The path of the object relative to the root, as in reports.
    var subject: String {
        let hex = ReferenceSHA256.hex(bytes)
        return "objects/sha256/\(hex.prefix(2))/\(hex)"
    }

    func change(_ change: ([UInt8]) -> [UInt8]) throws {
        try Tree.put(change(bytes), at: try file)
    }

    /// Changes rows with another connection that ignores foreign keys.
    func execute(_ sql: String, _ arguments: StatementArguments = []) throws {
        var configuration = Configuration()
        configuration.foreignKeysEnabled = false
        let queue = try DatabaseQueue(
            path: root + "/index.sqlite", configuration: configuration)
        try queue.write { try $0.execute(sql: sql, arguments: arguments) }
    }

    /// Expects exactly one finding, and the given number of intact objects.
    func expect(
        _ kind: VerifyReport.Finding.Kind, at subject: String, urls: [String], whole: Int,
        sourceLocation: SourceLocation = #_sourceLocation
    ) throws {
        let report = try cache.verify()
        #expect(report.findings.map(\.kind) == [kind], sourceLocation: sourceLocation)
        #expect(report.findings.map(\.subject) == [subject], sourceLocation: sourceLocation)
        #expect(report.findings.map(\.urls) == [urls], sourceLocation: sourceLocation)
        #expect(report.whole == whole, sourceLocation: sourceLocation)
        #expect(report.isClean == !kind.isCorruption, sourceLocation: sourceLocation)
        for other in VerifyReport.Finding.Kind.allCases {
            #expect(report.count(other) == (other == kind ? 1 : 0), sourceLocation: sourceLocation)
        }
    }
}
