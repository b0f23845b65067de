import Foundation

/// Instants as text, in UTC and in whole seconds.
///
/// By the C library: Foundation asks for the time zone first, and ICU's data come into memory for
/// it, which made the peak of a run in its last milliseconds.
package enum UTCTime {
    /// `2026-11-21T06:15:00Z` (RFC 3339).
    package static func timestamp(_ date: Date) -> String {
        let (day, time) = parts(of: date)
        return "\(day.joined(separator: "-"))T\(time.joined(separator: ":"))Z"
    }

    /// `20261121T061500Z`, for the name of a file.
    package static func name(_ date: Date) -> String {
        let (day, time) = parts(of: date)
        return "\(day.joined())T\(time.joined())Z"
    }

    /// The years that have four digits: a foreign record may name any time.
    private static let bounds = -62_135_596_800.0...253_402_300_799

    private static func parts(of date: Date) -> (day: [String], time: [String]) {
        var seconds = time_t(
            min(max(date.timeIntervalSince1970, bounds.lowerBound), bounds.upperBound))
        var parts = tm()
        gmtime_r(&seconds, &parts)
        return (
            [digits(parts.tm_year + 1900, 4), digits(parts.tm_mon + 1), digits(parts.tm_mday)],
            [digits(parts.tm_hour), digits(parts.tm_min), digits(parts.tm_sec)]
        )
    }

    private static func digits(_ number: Int32, _ count: Int = 2) -> String {
        let text = String(number)
        return String(repeating: "0", count: max(0, count - text.utf8.count)) + text
    }
}

/// Dates as HTTP writes them (RFC 9110, section 5.6.7): the preferred form and the two old ones.
package enum HTTPDate {
    /// The instant that `text` names; nil if it is no HTTP date.
    ///
    /// Letters may be of either case; all else is as the grammar has it, because a date that is
    /// none means "stale" (RFC 9111, section 5.3). Reads bytes: a cold run parses two for each
    /// response.
    ///
    /// - Parameter now: decides which century a year of two digits is of.
    package static func parse(_ text: String, now: Date = Date()) -> Date? {
        let bytes = Array(text.utf8)
        guard let comma = bytes.firstIndex(of: UInt8(ascii: ",")) else { return asctime(bytes) }
        return comma == 3 ? preferred(bytes) : rfc850(bytes, now: now)
    }

    /// `Sun, 06 Nov 1994 08:49:37 GMT`
    private static func preferred(_ bytes: [UInt8]) -> Date? {
        guard matches("***, ## *** #### ##:##:## GMT", bytes[...]), isDay(bytes[0..<3]) else {
            return nil
        }
        return date(
            day: number(bytes[5..<7]), month: bytes[8..<11], year: number(bytes[12..<16]),
            time: bytes[17..<25])
    }

    /// `Sunday, 06-Nov-94 08:49:37 GMT`
    private static func rfc850(_ bytes: [UInt8], now: Date) -> Date? {
        guard let comma = bytes.firstIndex(of: UInt8(ascii: ",")), (6...9).contains(comma),
            isDay(bytes[0..<3])
        else { return nil }
        let rest = Array(bytes[comma...])
        guard matches(", ##-***-## ##:##:## GMT", rest[...]) else { return nil }
        let thisYear = Calendar(identifier: .iso8601).component(.year, from: now)
        var year = thisYear / 100 * 100 + number(rest[9..<11])
        // At most 50 years ahead, and else past.
        if year > thisYear + 50 { year -= 100 }
        if year <= thisYear - 50 { year += 100 }
        return date(
            day: number(rest[2..<4]), month: rest[5..<8], year: year, time: rest[12..<20])
    }

    /// `Sun Nov  6 08:49:37 1994`
    private static func asctime(_ bytes: [UInt8]) -> Date? {
        guard
            matches("*** *** ## ##:##:## ####", bytes[...])
                || matches("*** ***  # ##:##:## ####", bytes[...]), isDay(bytes[0..<3])
        else { return nil }
        return date(
            day: number(bytes[8..<10]), month: bytes[4..<7], year: number(bytes[20..<24]),
            time: bytes[11..<19])
    }

    private typealias Part = ArraySlice<UInt8>

    /// Whether `bytes` have the form of `pattern`: `#` stands for a digit, `*` for a letter, and
    /// letters for themselves in either case.
    private static func matches(_ pattern: StaticString, _ bytes: Part) -> Bool {
        pattern.withUTF8Buffer { pattern in
            bytes.count == pattern.count
                && zip(pattern, bytes).allSatisfy { expected, byte in
                    switch expected {
                    case UInt8(ascii: "#"): (0x30...0x39).contains(byte)
                    case UInt8(ascii: "*"): (0x61...0x7A).contains(byte | 0x20)
                    case 0x41...0x5A: byte | 0x20 == expected | 0x20
                    default: byte == expected
                    }
                }
        }
    }

    private static let days = ["mon", "tue", "wed", "thu", "fri", "sat", "sun"].map {
        Array($0.utf8)
    }
    private static let months = [
        "jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec",
    ].map { Array($0.utf8) }

    private static func isDay(_ name: Part) -> Bool {
        days.contains { $0.elementsEqual(name.lazy.map { $0 | 0x20 }) }
    }

    /// The value of decimal digits; blanks before them count as none.
    private static func number(_ digits: Part) -> Int {
        digits.reduce(0) { $1 == 0x20 ? $0 : $0 * 10 + Int($1 - 0x30) }
    }

    /// - Parameter time: as in `08:49:37`; second 60 is a leap second's.
    private static func date(day: Int, month: Part, year: Int, time: Part) -> Date? {
        let start = time.startIndex
        let hour = number(time[start..<(start + 2)])
        let minute = number(time[(start + 3)..<(start + 5)])
        let second = number(time[(start + 6)..<(start + 8)])
        let name = month.lazy.map { $0 | 0x20 }
        guard let month = months.firstIndex(where: { $0.elementsEqual(name) }),
            (1...31).contains(day), hour < 24, minute < 60, second <= 60
        else { return nil }
        let days = daysSinceEpoch(year: year, month: month + 1, day: day)
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

/// Whole seconds as `max-age` and `Age` state them (RFC 9111, section 1.2.2).
package enum DeltaSeconds {
    /// What a larger number counts as: 68 years.
    static let maximum = 1 << 31

    /// The seconds that `text` states; nil if it is not a sequence of digits.
    package static func parse(_ text: some Collection<UInt8>) -> Int? {
        guard !text.isEmpty, text.allSatisfy(\.isDigit) else { return nil }
        return text.reduce(0) { min($0 * 10 + Int($1 - 0x30), maximum) }
    }
}
