import Foundation

/// Dates as HTTP writes them (RFC 9110, section 5.6.7): the preferred form and the two old ones.
enum HTTPDate {
    /// The instant that `text` names; nil if it is no HTTP date.
    ///
    /// Reads bytes: a cold run parses two dates for each response.
    static func parse(_ text: String) -> Date? {
        let parts = text.utf8.split { $0 == 0x20 || $0 == 0x2C || $0 == 0x2D }
        switch parts.count {
        case 6 where parts[4].contains(0x3A):  // Sun, 06 Nov 1994 08:49:37 GMT; Sunday, 06-Nov-94 …
            return date(day: parts[1], month: parts[2], year: parts[3], time: parts[4])
        case 5 where parts[3].contains(0x3A):  // Sun Nov  6 08:49:37 1994
            return date(day: parts[2], month: parts[1], year: parts[4], time: parts[3])
        default:
            return nil
        }
    }

    private typealias Part = Substring.UTF8View

    private static let months: [[UInt8]] = [
        "Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec",
    ].map { Array($0.utf8) }

    private static func date(day: Part, month: Part, year: Part, time: Part) -> Date? {
        let clock = time.split(separator: 0x3A, omittingEmptySubsequences: false).map(number)
        guard let day = number(day), let year = number(year), clock.count == 3,
            let month = months.firstIndex(where: { $0.elementsEqual(month) }),
            let hour = clock[0], let minute = clock[1], let second = clock[2],
            (1...31).contains(day), (0...23).contains(hour), (0...59).contains(minute),
            (0...60).contains(second)
        else { return nil }
        // The obsolete form's two digits: 70 to 99 are the last century's.
        let fullYear = year >= 100 ? year : year < 70 ? 2000 + year : 1900 + year
        let days = daysSinceEpoch(year: fullYear, month: month + 1, day: day)
        return Date(
            timeIntervalSince1970: Double(days * 86_400 + hour * 3600 + minute * 60 + second))
    }

    /// One to four decimal digits.
    private static func number(_ digits: Part) -> Int? {
        var value = 0
        var count = 0
        for byte in digits {
            guard (0x30...0x39).contains(byte), count < 4 else { return nil }
            value = value * 10 + Int(byte - 0x30)
            count += 1
        }
        return count > 0 ? value : nil
    }

    /// Days from 1970-01-01 in the proleptic Gregorian calendar (Howard Hinnant, "chrono-compatible
    /// low-level date algorithms", days_from_civil).
    private static func daysSinceEpoch(year: Int, month: Int, day: Int) -> Int {
        let year = month <= 2 ? year - 1 : year
        let era = year / 400
        let yearOfEra = year - era * 400
        let dayOfYear = (153 * (month + (month > 2 ? -3 : 9)) + 2) / 5 + day - 1
        let dayOfEra = yearOfEra * 365 + yearOfEra / 4 - yearOfEra / 100 + dayOfYear
        return era * 146_097 + dayOfEra - 719_468
    }
}
