import Foundation
import LarderTestSupport
import Testing

@testable import LarderCache

/// A cache whose objects have chosen times of use.
struct EvictionScene {
    let directory: TemporaryDirectory
    let cache: Cache

    init(_ directory: TemporaryDirectory) throws {
        self.directory = directory
        cache = try Cache.create(at: directory.path)
    }

    /// Runs `body` with a scene in a temporary directory.
    static func run(_ body: (EvictionScene) throws -> Void) throws {
        try withTemporaryDirectory { try body(EvictionScene($0)) }
    }

    /// Returns a time in September 2020.
    static func instant(_ seconds: Double) -> Date {
        Date(timeIntervalSince1970: 1_600_000_000 + seconds)
    }

    /// Stores an object for each key in one batch, by a run that has ended.
    func store(_ contents: [(key: String, bytes: [UInt8], use: Date)]) throws {
        let store = try cache.store()
        for (key, bytes, use) in contents {
            store.add(.staged(try store.stage(bytes)), at: key, receivedAt: use)
        }
        store.flush()
        store.close()
    }

    /// Evicts, and returns the report and the victims in order, without ages and names.
    func evict(
        _ configure: (inout EvictionPolicy) -> Void = { _ in }
    ) throws -> (report: EvictionReport, victims: [EvictionReport.Victim]) {
        var policy = EvictionPolicy()
        configure(&policy)
        var victims: [EvictionReport.Victim] = []
        let report = try cache.evict(policy) { victim in
            victims.append(
                .init(digest: victim.digest, size: victim.size, reason: victim.reason))
        }
        return (report, victims)
    }

    var keys: [String] {
        get throws {
            var keys: [String] = []
            try cache.forEachResource { keys.append($0.key) }
            return keys
        }
    }

    /// Expects the totals of the index to match the files on disk, and all objects to be complete.
    func expectAgreement(_ location: SourceLocation = #_sourceLocation) throws {
        let totals = try cache.status().totals
        var bytes: Int64 = 0
        let files = Tree.files(directory.path("objects"))
        for file in files {
            bytes += Int64(try Tree.bytes(directory.path("objects/\(file)")).count)
        }
        #expect(totals.objects == files.count, sourceLocation: location)
        #expect(totals.bytes == bytes, sourceLocation: location)
        let report = try cache.verify()
        #expect(report.findings.isEmpty, "\(report.findings)", sourceLocation: location)
    }
}

/// Returns keys in the form that a policy takes.
func keys(_ keys: [String]) -> EvictionPolicy.Keys { { add in try keys.forEach(add) } }
