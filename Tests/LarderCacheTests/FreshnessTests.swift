import Foundation
import LarderTestSupport
import Testing

@testable import LarderCache

@Suite struct FreshnessTests {
    private static let receipt = Date(timeIntervalSince1970: 784_111_777)
    private static let day = 86_400.0

    struct Case: Sendable, CustomTestStringConvertible {
        let testDescription: String
        var validators = Validators()
        let lifetime: TimeInterval

        init(_ what: String, lasts lifetime: TimeInterval, _ set: (inout Validators) -> Void) {
            testDescription = what
            self.lifetime = lifetime
            set(&validators)
        }
    }

    private static let received = "Sun, 06 Nov 1994 08:49:37 GMT"
    private static let tenDaysEarlier = "Thu, 27 Oct 1994 08:49:37 GMT"

    static let cases = [
        Case("nothing said: a day", lasts: day) { _ in },
        Case("max-age", lasts: 600) { $0.cacheControl = "max-age=600" },
        Case("max-age among others", lasts: 600) {
            $0.cacheControl = "public , Max-Age=600, immutable"
        },
        Case("quoted max-age", lasts: 600) { $0.cacheControl = "max-age=\"600\"" },
        Case("max-age less Age", lasts: 540) {
            $0.cacheControl = "max-age=600"
            $0.age = 60
        },
        Case("Age beyond max-age: stale since", lasts: -60) {
            $0.cacheControl = "max-age=600"
            $0.age = 660
        },
        Case("Age alone changes nothing", lasts: day) { $0.age = 60 },
        Case("max-age outranks Last-Modified", lasts: 600) {
            $0.cacheControl = "max-age=600"
            $0.lastModified = tenDaysEarlier
        },
        Case("no-cache", lasts: 0) { $0.cacheControl = "max-age=600, no-cache" },
        Case("no-store", lasts: 0) { $0.cacheControl = "no-store" },
        Case("a shared cache's s-maxage is not ours", lasts: day) {
            $0.cacheControl = "s-maxage=600"
        },
        Case("unreadable max-age", lasts: 0) { $0.cacheControl = "max-age=soon" },
        Case("max-age without a value", lasts: 0) { $0.cacheControl = "max-age" },
        Case("negative max-age", lasts: 0) { $0.cacheControl = "max-age=-5" },
        Case("a tenth since Last-Modified, from Date", lasts: day) {
            $0.lastModified = tenDaysEarlier
            $0.date = received
        },
        Case("a tenth since Last-Modified, from the receipt", lasts: day / 10) {
            $0.lastModified = "Sat, 05 Nov 1994 08:49:37 GMT"
        },
        Case("from Date, although received later", lasts: 0) {
            $0.lastModified = tenDaysEarlier
            $0.date = tenDaysEarlier
        },
        Case("unreadable Date: from the receipt", lasts: day) {
            $0.lastModified = tenDaysEarlier
            $0.date = "yesterday"
        },
        Case("modified in the future: a day", lasts: day) {
            $0.lastModified = "Sun, 06 Nov 2094 08:49:37 GMT"
        },
        Case("unreadable Last-Modified: a day", lasts: day) { $0.lastModified = "0" },
        // What an origin can only mean badly; the index takes no number that is none.
        Case("Age that is no number", lasts: 600) {
            $0.cacheControl = "max-age=600"
            $0.age = .nan
        },
        Case("Age below zero", lasts: 600) {
            $0.cacheControl = "max-age=600"
            $0.age = -1e300
        },
        Case("endless Age", lasts: 600 - 1e10) {
            $0.cacheControl = "max-age=600"
            $0.age = .infinity
        },
        Case("endless max-age", lasts: 1e10) { $0.cacheControl = "max-age=inf" },
        Case("max-age that is no number", lasts: 0) { $0.cacheControl = "max-age=nan" },
    ]

    /// All in one batch, which one bad number would break for the others.
    @Test func lastsAsTheOriginSays() throws {
        try withTemporaryDirectory { directory in
            let cache = try Cache.create(at: directory.path)
            let store = try cache.store()
            let digest = try store.storeAtOnce(noise(64, seed: 1))
            for sample in Self.cases {
                store.add(
                    .unchanged(digest), at: sample.testDescription, validators: sample.validators,
                    receivedAt: Self.receipt)
            }
            let batches = CommittedBatches(of: store)
            store.flush()
            for outcome in batches.outcomes { _ = try outcome.result.get() }
            for sample in Self.cases {
                let resource = try #require(try cache.resource(sample.testDescription))
                let lifetime = resource.freshUntil.timeIntervalSince(Self.receipt)
                #expect(lifetime == sample.lifetime, "\(sample.testDescription)")
            }
        }
    }

    @Test func endsAtItsInstant() throws {
        try withTemporaryDirectory { directory in
            let cache = try Cache.create(at: directory.path)
            let store = try cache.store()
            try store.put([1], at: "a")
            store.flush()
            let resource = try #require(try cache.resource("a"))
            #expect(resource.isFresh())
            #expect(resource.isFresh(at: resource.freshUntil.addingTimeInterval(-0.01)))
            #expect(!resource.isFresh(at: resource.freshUntil))
        }
    }
}
