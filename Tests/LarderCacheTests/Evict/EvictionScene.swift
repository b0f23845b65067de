import Foundation
import LarderTestSupport
import Testing

@testable import LarderCache

/// A cache whose objects were used when a test says.
struct EvictionScene {
    let directory: TemporaryDirectory
    let cache: Cache

    init(_ directory: TemporaryDirectory) throws {
        self.directory = directory
        cache = try Cache.create(at: directory.path)
    }

    /// An instant long past.
    static func instant(_ seconds: Double) -> Date {
        Date(timeIntervalSince1970: 1_600_000_000 + seconds)
    }

    /// Stores an object for each of some keys, in one batch, by a run that has ended.
    func store(_ contents: [(key: String, bytes: [UInt8], use: Date)]) throws {
        let store = try cache.store()
        for (key, bytes, use) in contents {
            store.add(.staged(try store.stage(bytes)), at: key, receivedAt: use)
        }
        store.flush()
        store.close()
    }

    /// Evicts; returns the report and the victims in their order, without age and names.
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

    /// The index's totals are the disk's, and everything is whole.
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

/// Keys as a policy takes them.
func keys(_ keys: [String]) -> EvictionPolicy.Keys { { add in try keys.forEach(add) } }
