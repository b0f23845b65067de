import Foundation
import Testing

@testable import LarderCore

@Suite struct HTTPDateTests {
    /// The examples of RFC 9110, section 5.6.7, which all give the same second.
    @Test(arguments: [
        "Sun, 06 Nov 1994 08:49:37 GMT", "Sunday, 06-Nov-94 08:49:37 GMT",
        "Sun Nov  6 08:49:37 1994",
    ])
    func allThreeDateFormatsAreRead(_ text: String) {
        #expect(HTTPDate.parse(text) == Date(timeIntervalSince1970: 784_111_777))
    }

    @Test(arguments: [
        ("Thu, 01 Jan 1970 00:00:00 GMT", 0.0), ("Wed, 31 Dec 1969 23:59:59 GMT", -1),
        ("Thu, 29 Feb 2024 12:00:00 GMT", 1_709_208_000),
        ("Fri, 01 Mar 2024 00:00:00 GMT", 1_709_251_200),
        ("Fri, 31 Dec 1999 23:59:59 GMT", 946_684_799),
        ("Sat, 31 Dec 2016 23:59:60 GMT", 1_483_228_800),
        ("Tue, 19 Jan 2038 14:14:08 GMT", 2_147_523_248),
        ("Sun, 21 Nov 2286 04:46:39 GMT", 10_000_039_599),
        ("Thu, 01 Jan 9999 00:00:00 GMT", 253_370_764_800),
    ])
    func datesAreConvertedToSecondsSinceTheEpoch(_ text: String, _ seconds: TimeInterval) {
        #expect(HTTPDate.parse(text)?.timeIntervalSince1970 == seconds)
    }

    @Test(arguments: [
        "SUN, 06 NOV 1994 08:49:37 GMT", "sun, 06 nov 1994 08:49:37 gmt",
        "SUNDAY, 06-NOV-94 08:49:37 GMT", "SUN NOV  6 08:49:37 1994",
    ])
    func namesInDatesAreCaseInsensitive(_ text: String) {
        #expect(HTTPDate.parse(text) == Date(timeIntervalSince1970: 784_111_777))
    }

    /// RFC 9110, section 5.6.7: A year more than 50 years in the future is in the past.
    @Test(arguments: [
        ("94", 1994, 1994), ("45", 1994, 1945), ("44", 1994, 2044), ("50", 2026, 2050),
        ("76", 2026, 2076), ("77", 2026, 1977), ("99", 2026, 1999), ("00", 2026, 2000),
    ])
    func aYearOfTwoDigitsIsCompleted(_ digits: String, _ now: Int, _ year: Int) throws {
        func date(_ year: Int) throws -> Date {
            try #require(HTTPDate.parse("Fri, 01 Jul \(year) 00:00:00 GMT"))
        }
        let parsed = HTTPDate.parse("Friday, 01-Jul-\(digits) 00:00:00 GMT", now: try date(now))
        #expect(parsed == (try date(year)))
    }

    @Test(arguments: [
        "Sun, 06 Nov 1994 08:49:37 UTC", "Sun, 06 Nov 1994 08:49:37 AEST",
        "Sun, 06 Nov 1994 08:49:37 +0000", "Sun, 06 Nov 94 08:49:37 GMT",
        "Sun 06 Nov 1994 08:49:37 GMT", "Sun, 06  Nov  1994 08:49:37 GMT",
        "Sun, 06-Nov-1994 08:49:37 GMT", "Sun, 06 Nov 1994 08.49.37 GMT",
        "Sun, 06 Nov 1994 8:49:37 GMT", "Sun, 6 Nov 1994 08:49:37 GMT",
        "Sun,06 Nov 1994 08:49:37 GMT", " Sun, 06 Nov 1994 08:49:37 GMT", "Sun Nov 6 08:49:37 1994",
        "Sun Nov  6 08:49:37 1994 GMT", "Sun, Nov  6 08:49:37 1994", "So, 06 Nov 1994 08:49:37 GMT",
        "Son, 06 Nov 1994 08:49:37 GMT", "Sonntag, 06-Nov-94 08:49:37 GMT",
        "Sunday, 06 Nov 1994 08:49:37 GMT", "Sun, 06-Nov-94 08:49:37 GMT", "@@@, 06 Nov 1994",
        "", "0", "-1", "now", "Sun, 06 Nov 1994", "Sun, 06 Nov 1994 08:49 GMT",
        "Sun, 06 Nov 1994 24:00:00 GMT", "Sun, 06 Nov 1994 08:60:00 GMT",
        "Sun, 06 Nov 1994 08:49:61 GMT", "Sun, 00 Nov 1994 08:49:37 GMT",
        "Sun, 32 Nov 1994 08:49:37 GMT", "Sun, 06 Noc 1994 08:49:37 GMT",
        "Sun, 06 Nov 10000 08:49:37 GMT", "Sun, 06 Nov 99999999999999999999 08:49:37 GMT",
        "Sun, 06 Nov 1994 08:49:37:11 GMT", "Sun, 06 Nov 1994 a:b:c GMT", "1994-11-06T08:49:37Z",
        "Sun, 06 Nov 1994 08:49:37 GMT and more", "\u{0}\u{1F600},,,---",
    ])
    func invalidDatesAreRefused(_ text: String) {
        #expect(HTTPDate.parse(text) == nil)
    }
}

@Suite struct RetryAfterTests {
    private static let now = Date(timeIntervalSince1970: 784_111_777)
    private static let date = "Sun, 06 Nov 1994 08:49:37 GMT"
    private static let inAMinute = "Sun, 06 Nov 1994 08:50:37 GMT"

    private func delay(_ field: String?, date: String? = nil, age: String? = nil) -> Duration? {
        RetryAfter.delay(field, date: date, age: age, now: Self.now)
    }

    @Test func retryAfterIsANumberOfSecondsOrADate() {
        #expect(delay("120") == .seconds(120))
        #expect(delay(Self.inAMinute) == .seconds(60))
        #expect(delay(Self.date) == .zero)
        #expect(delay(String(repeating: "9", count: 30)) == .seconds(3_200_000_000))
    }

    /// The server's clock may be wrong, and the response may come from a cache.
    @Test func retryAfterCountsFromTheDateOfTheResponse() {
        let later = "Sun, 06 Nov 1994 09:49:37 GMT"
        #expect(delay(later, date: "Sun, 06 Nov 1994 09:49:07 GMT") == .seconds(30))
        #expect(delay(Self.inAMinute, date: Self.date, age: "20") == .seconds(40))
        #expect(delay(Self.inAMinute, date: "soon", age: "old") == .seconds(60))
        #expect(delay(Self.inAMinute, age: "20") == .seconds(60))
    }

    @Test(arguments: ["", "nan", "inf", "-5", "1.5", "soon"])
    func invalidRetryAfterFieldsAreIgnored(
        _ field: String
    ) {
        #expect(delay(field) == nil)
    }
}
