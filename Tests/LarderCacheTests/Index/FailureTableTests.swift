import Foundation
import GRDB
import LarderTestSupport
import Testing

@testable import LarderCache
@testable import LarderCore

@Suite(.timeLimit(.minutes(30))) struct FailureTableTests {
    private struct Failure: Equatable {
        let key: String
        let url: String?
        let code: String
        let status: Int?
        let count: Int
    }

    private func failures(in directory: String) throws -> [Failure] {
        try DatabaseQueue(path: "\(directory)/index.sqlite").read { db in
            try Row.fetchAll(db, sql: "SELECT key, url, code, status, count FROM failures")
                .map {
                    Failure(key: $0[0], url: $0[1], code: $0[2], status: $0[3], count: $0[4])
                }
        }
    }

    private func fail(_ store: Store, _ key: String, url: String? = nil, _ status: Int?) {
        let code = status.map { "http-\($0)" } ?? "timeout"
        store.add(.failed(code: code, status: status), at: key, url: url)
    }

    @Test func theLastFailureOfAResourceIsKeptWithACount() throws {
        try withTemporaryDirectory { directory in
            let store = try Cache.create(at: directory.path).store()
            fail(store, "a", 500)
            fail(store, "b", url: "old", 404)
            store.flush()
            fail(store, "a", nil)
            fail(store, "b", url: "new", 404)
            store.flush()
            #expect(
                try failures(in: directory.path) == [
                    Failure(key: "a", url: nil, code: "timeout", status: nil, count: 2),
                    Failure(key: "b", url: "new", code: "http-404", status: 404, count: 2),
                ])
        }
    }

    /// Any other result forgets the failure, in the same batch or in another one.
    @Test func aFailureIsForgottenAfterASuccess() throws {
        try withTemporaryDirectory { directory in
            let cache = try Cache.create(at: directory.path)
            let store = try cache.store()
            let digest = try store.storeAtOnce([1])
            let keys = ["staged", "unchanged", "kept", "unstored", "failed"]
            func succeed() throws {
                try store.put([2], at: "staged")
                store.add(.unchanged(digest), at: "unchanged")
                store.add(.kept(digest), at: "kept")
                store.add(.unstored, at: "unstored")
            }
            for isSameBatch in [false, true] {
                for key in keys { fail(store, key, 500) }
                if !isSameBatch { store.flush() }
                try succeed()
                store.flush()
                #expect(try failures(in: directory.path).map(\.key) == ["failed"])
            }
            // These results create no resource.
            for key in ["kept", "unstored", "failed"] { #expect(try cache.resource(key) == nil) }
            #expect(try cache.resource("unchanged")?.object.digest == digest)
        }
    }

    @Test func failuresAndKeptResultsDoNotChangeTheResource() throws {
        try withTemporaryDirectory { directory in
            let cache = try Cache.create(at: directory.path)
            let store = try cache.store()
            var validators = Validators()
            validators.etag = "\"1\""
            let digest = try store.storeAtOnce([1])
            store.add(
                .unchanged(digest), at: "key", validators: validators,
                receivedAt: Date(timeIntervalSince1970: 1000))
            store.flush()
            fail(store, "key", 500)
            store.add(.kept(digest), at: "key")
            store.add(.unstored, at: "key")
            store.flush()
            let resource = try #require(try cache.resource("key"))
            #expect(resource.validators == validators)
            #expect(resource.receivedAt.timeIntervalSince1970 == 1000)
        }
    }

    /// The object may have been evicted after the response was requested.
    @Test func keepingAnAbsentObjectFails() throws {
        try withTemporaryDirectory { directory in
            let store = try Cache.create(at: directory.path).store()
            let batches = CommittedBatches(of: store)
            batches.add(.kept(try Digest.reference(of: [1])), at: "key")
            store.flush()
            let error = #expect(throws: CacheError.self) { try batches.outcomes[0].result.get() }
            #expect(error?.code == .missing)
        }
    }

    @Test func failuresAndDepositsAreReportedInOrder() throws {
        try withTemporaryDirectory { directory in
            let store = try Cache.create(at: directory.path).store()
            let batches = CommittedBatches(of: store)
            try batches.put([1], at: "a", token: 1)
            batches.add(.failed(code: "timeout", status: nil), at: "b", token: 2)
            try batches.put([2], at: "c", token: 3)
            store.flush()
            #expect(batches.outcomes.map(\.token) == [1, 2, 3])
            #expect(
                try batches.outcomes.map { try $0.result.get() == nil } == [false, true, false])
        }
    }
}
