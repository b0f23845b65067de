import Foundation
import LarderTestSupport
import Testing

@testable import LarderCache
@testable import LarderCore

@Suite struct FreshnessTests {
    private static let received = Date(timeIntervalSince1970: 784_111_777)
    private static let day = 86_400.0

    /// The fields of a response and the lifetime after its receipt.
    struct Case: Sendable, CustomTestStringConvertible {
        let testDescription: String
        let fields: [(name: String, value: String)]
        let lifetime: TimeInterval

        init(_ description: String, _ fields: [(String, String)], lasts lifetime: TimeInterval) {
            testDescription = description
            self.fields = fields.map { (name: $0.0, value: $0.1) }
            self.lifetime = lifetime
        }

        var validators: Validators {
            Validators { name in
                fields.filter { $0.name.lowercased() == name.lowercased() }.map(\.value)
            }
        }
    }

    /// Returns the HTTP date of the given number of seconds after the receipt.
    private static func at(_ seconds: TimeInterval) -> String {
        LarderTestSupport.HTTPDate.string(from: received.addingTimeInterval(seconds))
    }

    static let maxAge = [
        Case("max-age", [("Cache-Control", "max-age=600")], lasts: 600),
        Case("max-age of 0", [("Cache-Control", "max-age=0")], lasts: 0),
        Case(
            "max-age of 2^31 - 1", [("Cache-Control", "max-age=2147483647")],
            lasts: 2_147_483_647),
        Case("max-age of 2^31", [("Cache-Control", "max-age=2147483648")], lasts: 2_147_483_648),
        Case(
            "max-age above 2^31", [("Cache-Control", "max-age=2147483649")],
            lasts: 2_147_483_648),
        Case(
            "max-age of any length", [("Cache-Control", "max-age=99999999999999999999999")],
            lasts: 2_147_483_648),
        Case("negative max-age", [("Cache-Control", "max-age=-3600")], lasts: 0),
        Case(
            "max-age outranks a past Expires",
            [("Cache-Control", "max-age=600"), ("Expires", at(-600))], lasts: 600),
        Case(
            "max-age outranks an invalid Expires",
            [("Cache-Control", "max-age=600"), ("Expires", "0")], lasts: 600),
        Case(
            "max-age of 0 outranks a future Expires",
            [("Cache-Control", "max-age=0"), ("Expires", at(600))], lasts: 0),
        Case(
            "max-age outranks Last-Modified",
            [("Cache-Control", "max-age=600"), ("Last-Modified", at(-10 * day))], lasts: 600),
        Case(
            "s-maxage is for shared caches only", [("Cache-Control", "s-maxage=600")], lasts: day),
        Case(
            "a longer s-maxage after max-age",
            [("Cache-Control", "max-age=1, s-maxage=3600")], lasts: 1),
        Case(
            "a longer s-maxage in a second field",
            [("Cache-Control", "max-age=1"), ("Cache-Control", "s-maxage=3600")], lasts: 1),
        Case("private permits storage", [("Cache-Control", "private, max-age=600")], lasts: 600),
        Case(
            "public, must-revalidate and proxy-revalidate do not change the lifetime",
            [("Cache-Control", "public, must-revalidate, proxy-revalidate, max-age=600")],
            lasts: 600),
        Case(
            "immutable does not extend the lifetime", [("Cache-Control", "max-age=600, immutable")],
            lasts: 600),
        Case(
            "Pragma is ignored in a response",
            [("Cache-Control", "max-age=600"), ("Pragma", "no-cache")], lasts: 600),
        Case(
            "CDN-Cache-Control is ignored",
            [("CDN-Cache-Control", "max-age=3600"), ("Cache-Control", "max-age=1")], lasts: 1),
    ]

    static let directives = [
        Case("no-cache", [("Cache-Control", "no-cache")], lasts: 0),
        Case(
            "no-cache with max-age and Expires",
            [("Cache-Control", "max-age=600, no-cache"), ("Expires", at(600))], lasts: 0),
        Case(
            "no-cache for one field applies to the response",
            [("Cache-Control", #"no-cache="Set-Cookie", max-age=600"#)], lasts: 0),
        Case(
            "no-cache in a second field",
            [("Cache-Control", "max-age=600"), ("Cache-Control", "No-CaChE")], lasts: 0),
        Case(
            "no-store of a stored response",
            [("Cache-Control", "no-store, max-age=600"), ("Expires", at(600))], lasts: 0),
        Case(
            "no-store with must-understand",
            [("Cache-Control", "max-age=600, no-store, must-understand")], lasts: 600),
        Case(
            "Vary: *", [("Cache-Control", "max-age=600"), ("Vary", "*")],
            lasts: 0),
        Case(
            "Vary: * among other values",
            [("Cache-Control", "max-age=600"), ("Vary", "Accept"), ("Vary", ", *")], lasts: 0),
        Case(
            "Vary with a field name", [("Cache-Control", "max-age=600"), ("Vary", "Accept")],
            lasts: 600),
    ]

    static let age = [
        Case("max-age less Age", [("Cache-Control", "max-age=600"), ("Age", "60")], lasts: 540),
        Case(
            "Age above max-age",
            [("Cache-Control", "max-age=600"), ("Age", "660")], lasts: -60),
        Case(
            "Age that is not a number", [("Cache-Control", "max-age=600"), ("Age", "abc")],
            lasts: 600),
        Case("negative Age", [("Cache-Control", "max-age=600"), ("Age", "-7200")], lasts: 600),
        Case(
            "Age with decimals", [("Cache-Control", "max-age=600"), ("Age", "7200.0")],
            lasts: 600),
        Case(
            "Age with a parameter", [("Cache-Control", "max-age=600"), ("Age", "7200;foo=111")],
            lasts: 600),
        Case("empty Age", [("Cache-Control", "max-age=600"), ("Age", "")], lasts: 600),
        Case(
            "Age of 2^31", [("Cache-Control", "max-age=600"), ("Age", "2147483648")],
            lasts: 600 - 2_147_483_648),
        Case(
            "Age of any length",
            [("Cache-Control", "max-age=600"), ("Age", "99999999999999999999999")],
            lasts: 600 - 2_147_483_648),
        Case(
            "the first of a list of Ages", [("Cache-Control", "max-age=600"), ("Age", "7200, 0")],
            lasts: -6600),
        Case(
            "the first of a list of Ages, which is 0",
            [("Cache-Control", "max-age=600"), ("Age", "0, 7200")], lasts: 600),
        Case(
            "the first of several Ages",
            [("Cache-Control", "max-age=600"), ("Age", "7200"), ("Age", "0")], lasts: -6600),
        Case(
            "the first of several Ages, which is 0",
            [("Cache-Control", "max-age=600"), ("Age", "0"), ("Age", "7200")], lasts: 600),
        Case(
            "the same Age twice",
            [("Cache-Control", "max-age=600"), ("Age", "60"), ("Age", "60")], lasts: 540),
        Case("Age reduces a heuristic lifetime", [("Age", "60")], lasts: day - 60),
        Case(
            "Date in the past",
            [("Cache-Control", "max-age=3600"), ("Date", at(-7200))], lasts: -3600),
        Case(
            "Age gives a greater age than Date",
            [("Cache-Control", "max-age=3600"), ("Date", at(-120)), ("Age", "180")], lasts: 3420),
        Case(
            "Date gives a greater age than Age",
            [("Cache-Control", "max-age=3600"), ("Date", at(-180)), ("Age", "120")], lasts: 3420),
        Case(
            "a Date within the tolerance for clock skew",
            [("Cache-Control", "max-age=30"), ("Date", at(-60))], lasts: 30),
        Case(
            "a Date in the future", [("Cache-Control", "max-age=600"), ("Date", at(86_400))],
            lasts: 600),
        Case(
            "an invalid Date", [("Cache-Control", "max-age=600"), ("Date", "foo")],
            lasts: 600),
    ]

    static let expires = [
        Case("Expires", [("Expires", at(600)), ("Date", at(0))], lasts: 600),
        Case("Expires without Date", [("Expires", at(600))], lasts: 600),
        Case(
            "Expires with an invalid Date", [("Expires", at(10)), ("Date", "foo")],
            lasts: 10),
        Case("past Expires", [("Expires", at(-600)), ("Date", at(0))], lasts: 0),
        Case("present Expires", [("Expires", at(0)), ("Date", at(0))], lasts: 0),
        Case(
            "Expires before Date, origin's clock ahead", [("Expires", at(300)), ("Date", at(400))],
            lasts: 0),
        Case(
            "Expires after Date, origin's clock ahead",
            [("Expires", at(4000)), ("Date", at(3600))], lasts: 400),
        Case("Expires that is 0", [("Expires", "0"), ("Date", at(0))], lasts: 0),
        Case("Expires that is -1", [("Expires", "-1")], lasts: 0),
        Case("empty Expires", [("Expires", "")], lasts: 0),
        Case(
            "Age beyond Expires, origin's clock behind",
            [("Date", at(-10)), ("Expires", at(10)), ("Age", "25")], lasts: -5),
        Case(
            "Age beyond Expires, origin's clock ahead",
            [("Date", at(10)), ("Expires", at(20)), ("Age", "15")], lasts: -5),
        Case(
            "the first of several Expires", [("Expires", at(600)), ("Expires", at(-600))],
            lasts: 600),
        Case(
            "the first of several Expires, which is invalid",
            [("Expires", "0"), ("Expires", at(600))], lasts: 0),
        Case(
            "Expires outranks a heuristic lifetime",
            [("Expires", at(600)), ("Last-Modified", at(-10 * day))],
            lasts: 600),
        Case(
            "Expires in the obsolete format of RFC 850",
            [("Expires", "Sunday, 06-Nov-94 08:59:37 GMT"), ("Date", at(0))], lasts: 600),
        Case(
            "Expires in the format of asctime",
            [("Expires", "Sun Nov  6 08:59:37 1994"), ("Date", at(0))], lasts: 600),
    ]

    static let heuristics = [
        Case("no fields: a day", [], lasts: day),
        Case(
            "a tenth of the time from Last-Modified to Date",
            [("Last-Modified", at(-10 * day)), ("Date", at(0))], lasts: day),
        Case(
            "a tenth of the time from Last-Modified to receipt", [("Last-Modified", at(-day))],
            lasts: day / 10),
        Case("a tenth of five minutes", [("Last-Modified", at(-300)), ("Date", at(0))], lasts: 30),
        Case(
            "at most a week", [("Last-Modified", at(-1000 * day)), ("Date", at(0))],
            lasts: 7 * day),
        Case("Last-Modified equal to Date", [("Last-Modified", at(0)), ("Date", at(0))], lasts: 0),
        Case(
            "a heuristic lifetime counts from Date",
            [("Last-Modified", at(-20 * day)), ("Date", at(-day))], lasts: 0.9 * day),
        Case(
            "invalid Date: the time of receipt counts",
            [("Last-Modified", at(-10 * day)), ("Date", "yesterday")], lasts: day),
        Case("Last-Modified in the future: a day", [("Last-Modified", at(100 * day))], lasts: day),
        Case("invalid Last-Modified: a day", [("Last-Modified", "0")], lasts: day),
    ]

    static let cases = maxAge + directives + age + expires + heuristics

    @Test(arguments: cases) func theFreshnessLifetimeFollowsTheResponse(_ sample: Case) {
        let end = Freshness.expiry(of: sample.validators, receivedAt: Self.received)
        #expect(end.timeIntervalSince(Self.received) == sample.lifetime)
    }

    /// All cases go into one batch, which a single invalid number would fail.
    @Test func theIndexStoresEveryFreshnessLifetime() throws {
        try withTemporaryDirectory { directory in
            let cache = try Cache.create(at: directory.path)
            let store = try cache.store()
            let digest = try store.storeAtOnce(noise(64, seed: 1))
            for sample in Self.cases {
                store.add(
                    .unchanged(digest), at: sample.testDescription, validators: sample.validators,
                    receivedAt: Self.received)
            }
            let batches = CommittedBatches(of: store)
            store.flush()
            for outcome in batches.outcomes { _ = try outcome.result.get() }
            for sample in Self.cases {
                let resource = try #require(try cache.resource(sample.testDescription))
                let lifetime = resource.freshUntil.timeIntervalSince(Self.received)
                #expect(lifetime == sample.lifetime, "\(sample.testDescription)")
                #expect(resource.validators == sample.validators)
            }
        }
    }

    /// RFC 9111, section 4.2.3.
    @Test func theDelayOfAResponseReducesItsLifetime() {
        var validators = Validators()
        validators.cacheControl = "max-age=600"
        validators.age = 60
        let end = Freshness.expiry(of: validators, receivedAt: Self.received, delay: 40)
        #expect(end.timeIntervalSince(Self.received) == 500)
    }

    @Test func aResourceIsStaleFromItsExpiry() throws {
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

    /// Responses received while the clock was ahead must not stay fresh after it is corrected.
    @Test func aResponseReceivedInTheFutureIsStale() throws {
        try withTemporaryDirectory { directory in
            let cache = try Cache.create(at: directory.path)
            let store = try cache.store()
            let digest = try store.storeAtOnce([1])
            for (key, ahead) in [("a little", 30.0), ("much", 3600)] {
                store.add(
                    .unchanged(digest), at: key, receivedAt: Date(timeIntervalSinceNow: ahead))
            }
            store.flush()
            #expect(try cache.resource("a little")?.isFresh() == true)
            #expect(try cache.resource("much")?.isFresh() == false)
            // The other fresh resource is "stored at once".
            #expect(try cache.status().totals.freshResources == 2)
        }
    }
}
