import Foundation

/// Dates as HTTP writes them (RFC 9110, section 5.6.7): the preferred form and the two old ones.
enum HTTPDate {
    /// The instant that `text` names; nil if it is no HTTP date.
    static func parse(_ text: String) -> Date? {
        let parts = text.split(whereSeparator: { " ,-".contains($0) }).map(String.init)
        switch parts.count {
        case 6 where parts[4].contains(":"):  // Sun, 06 Nov 1994 08:49:37 GMT; Sunday, 06-Nov-94 …
            return date(day: parts[1], month: parts[2], year: parts[3], time: parts[4])
        case 5 where parts[3].contains(":"):  // Sun Nov  6 08:49:37 1994
            return date(day: parts[2], month: parts[1], year: parts[4], time: parts[3])
        default:
            return nil
        }
    }

    private static let months = [
        "Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec",
    ]

    private static func date(day: String, month: String, year: String, time: String) -> Date? {
        let clock = time.split(separator: ":").map { Int($0) }
        guard let day = Int(day), let month = months.firstIndex(of: month), let year = Int(year),
            clock.count == 3, let hour = clock[0], let minute = clock[1], let second = clock[2],
            (1...31).contains(day), (0...9999).contains(year),
            (0...23).contains(hour), (0...59).contains(minute), (0...60).contains(second)
        else { return nil }
        // The obsolete form's two digits: 70 to 99 are the last century's.
        let fullYear = year >= 100 ? year : year < 70 ? 2000 + year : 1900 + year
        let days = daysSinceEpoch(year: fullYear, month: month + 1, day: day)
        return Date(
            timeIntervalSince1970: Double(days * 86_400 + hour * 3600 + minute * 60 + second))
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
