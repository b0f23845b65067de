import Foundation
import Testing

@testable import LarderCore

@Suite struct UTCTimeTests {
    @Test(arguments: [
        (0.0, "1970-01-01T00:00:00Z", "19700101T000000Z"),
        (1_763_705_700.9, "2025-11-21T06:15:00Z", "20251121T061500Z"),
        // Times outside the years 1 to 9999 are clamped.
        (-62_135_596_800, "0001-01-01T00:00:00Z", "00010101T000000Z"),
        (-1e300, "0001-01-01T00:00:00Z", "00010101T000000Z"),
        (253_402_300_799, "9999-12-31T23:59:59Z", "99991231T235959Z"),
        (.infinity, "9999-12-31T23:59:59Z", "99991231T235959Z"),
    ])
    func everyTimeHasATextForm(_ seconds: Double, _ timestamp: String, _ name: String) {
        let date = Date(timeIntervalSince1970: seconds)
        #expect(UTCTime.timestamp(date) == timestamp)
        #expect(UTCTime.name(date) == name)
    }
}
