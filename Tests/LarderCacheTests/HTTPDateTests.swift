import Foundation
import Testing

@testable import LarderCache

@Suite struct HTTPDateTests {
    /// The examples of RFC 9110, section 5.6.7: all name the same second.
    @Test(arguments: [
        "Sun, 06 Nov 1994 08:49:37 GMT", "Sunday, 06-Nov-94 08:49:37 GMT",
        "Sun Nov  6 08:49:37 1994",
    ])
    func readsTheThreeForms(_ text: String) {
        #expect(HTTPDate.parse(text) == Date(timeIntervalSince1970: 784_111_777))
    }

    @Test(arguments: [
        ("Thu, 01 Jan 1970 00:00:00 GMT", 0.0), ("Wed, 31 Dec 1969 23:59:59 GMT", -1),
        ("Thu, 29 Feb 2024 12:00:00 GMT", 1_709_208_000),
        ("Fri, 01 Mar 2024 00:00:00 GMT", 1_709_251_200),
        ("Fri, 31 Dec 1999 23:59:59 GMT", 946_684_799),
        ("Sat, 31 Dec 2016 23:59:60 GMT", 1_483_228_800),
        ("Friday, 01-Jan-70 00:00:00 GMT", 0), ("Thursday, 01-Jan-69 00:00:00 GMT", 3_124_224_000),
    ])
    func countsFromTheEpoch(_ text: String, _ seconds: TimeInterval) {
        #expect(HTTPDate.parse(text)?.timeIntervalSince1970 == seconds)
    }

    @Test(arguments: [
        "", "0", "-1", "now", "Sun, 06 Nov 1994", "Sun, 06 Nov 1994 08:49 GMT",
        "Sun, 06 Nov 1994 24:00:00 GMT", "Sun, 06 Nov 1994 08:60:00 GMT",
        "Sun, 06 Nov 1994 08:49:61 GMT", "Sun, 00 Nov 1994 08:49:37 GMT",
        "Sun, 32 Nov 1994 08:49:37 GMT", "Sun, 06 Noc 1994 08:49:37 GMT",
        "Sun, 06 Nov 10000 08:49:37 GMT", "Sun, 06 Nov 99999999999999999999 08:49:37 GMT",
        "Sun, 06 Nov 1994 08:49:37:11 GMT", "Sun, 06 Nov 1994 a:b:c GMT", "1994-11-06T08:49:37Z",
        "Sun, 06 Nov 1994 08:49:37 GMT and more", "\u{0}\u{1F600},,,---",
    ])
    func refusesGarbage(_ text: String) {
        #expect(HTTPDate.parse(text) == nil)
    }
}
