import Foundation

/// Instants as text, in UTC and in whole seconds. The C library is used because Foundation loads
/// ICU's data for the time zone: that was the peak of a run's memory.
package enum UTCTime {
    /// `2026-11-21T06:15:00Z` (RFC 3339).
    package static func timestamp(_ date: Date) -> String {
        text(date, "%04d-%02d-%02dT%02d:%02d:%02dZ")
    }

    /// `20261121T061500Z`, for the name of a file.
    package static func name(_ date: Date) -> String { text(date, "%04d%02d%02dT%02d%02d%02dZ") }

    /// The years that have four digits: a foreign record may name any time.
    private static let bounds = -62_135_596_800.0...253_402_300_799

    private static func text(_ date: Date, _ format: String) -> String {
        var seconds = time_t(
            min(max(date.timeIntervalSince1970, bounds.lowerBound), bounds.upperBound))
        var parts = tm()
        gmtime_r(&seconds, &parts)
        let numbers = [
            parts.tm_year + 1900, parts.tm_mon + 1, parts.tm_mday, parts.tm_hour, parts.tm_min,
            parts.tm_sec,
        ]
        return String(unsafeUninitializedCapacity: 32) { text in
            text.withMemoryRebound(to: CChar.self) { text in
                Int(withVaList(numbers) { vsnprintf(text.baseAddress, text.count, format, $0) })
            }
        }
    }
}

/// Dates as HTTP writes them (RFC 9110, section 5.6.7): the preferred form and the two old ones.
package enum HTTPDate {
    /// Returns nil for what is not an HTTP date. Letters may be of either case. Everything else
    /// must follow the grammar, because a date that does not means "stale" (RFC 9111, section 5.3).
    ///
    /// - Parameter now: decides the century of a year of two digits.
    package static func parse(_ text: String, now: Date = Date()) -> Date? {
        let bytes = Array(text.utf8)
        let parts = bytes.split { !$0.isASCIILetterOrDigit }
        guard let name = parts.first, name.startIndex == 0,
            days.contains(name.prefix(3).lowercasedASCII)
        else { return nil }
        if matches("***, ## *** #### ##:##:## GMT", bytes[...]) {
            return date(day: parts[1], month: parts[2], year: number(parts[3]), time: parts[4...6])
        }
        if matches("*** *** ## ##:##:## ####", bytes[...])
            || matches("*** ***  # ##:##:## ####", bytes[...])
        {
            return date(day: parts[2], month: parts[1], year: number(parts[6]), time: parts[3...5])
        }
        guard matches(", ##-***-## ##:##:## GMT", bytes[name.endIndex...]), 6...9 ~= name.count
        else { return nil }
        let thisYear = Calendar(identifier: .iso8601).component(.year, from: now)
        var year = thisYear / 100 * 100 + number(parts[3])
        // At most 50 years ahead, and else past.
        if year > thisYear + 50 { year -= 100 }
        if year <= thisYear - 50 { year += 100 }
        return date(day: parts[1], month: parts[2], year: year, time: parts[4...6])
    }

    private typealias Part = ArraySlice<UInt8>

    private static let days = ["mon", "tue", "wed", "thu", "fri", "sat", "sun"]
        .map { Array($0.utf8) }
    private static let months = [
        "jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec",
    ].map { Array($0.utf8) }

    private static func number(_ digits: Part) -> Int {
        digits.reduce(0) { $0 * 10 + Int($1 - 0x30) }
    }

    /// Second 60 is a leap second.
    private static func date(day: Part, month: Part, year: Int, time: ArraySlice<Part>) -> Date? {
        let numbers = ([day] + time).map { Int32(number($0)) }
        guard let month = months.firstIndex(of: month.lowercasedASCII), 1...31 ~= numbers[0],
            numbers[1] < 24, numbers[2] < 60, numbers[3] <= 60
        else { return nil }
        var parts = tm()
        (parts.tm_year, parts.tm_mon) = (Int32(year - 1900), Int32(month))
        parts.tm_mday = numbers[0]
        (parts.tm_hour, parts.tm_min, parts.tm_sec) = (numbers[1], numbers[2], numbers[3])
        return Date(timeIntervalSince1970: Double(timegm(&parts)))
    }

    /// Whether `bytes` have a form: `#` is any digit, `*` a letter, and letters are of either case.
    private static func matches(_ pattern: StaticString, _ bytes: Part) -> Bool {
        pattern.withUTF8Buffer { pattern in
            bytes.count == pattern.count
                && zip(pattern, bytes).allSatisfy { expected, byte in
                    switch expected {
                    case UInt8(ascii: "#"): byte.isDigit
                    case UInt8(ascii: "*"): (0x61...0x7A).contains(byte | 0x20)
                    case 0x41...0x5A: byte | 0x20 == expected | 0x20
                    default: byte == expected
                    }
                }
        }
    }
}

/// Whole seconds as `max-age` and `Age` state them (RFC 9111, section 1.2.2).
package enum DeltaSeconds {
    /// 68 years, in seconds.
    static let maximum = 1 << 31

    package static func parse(_ text: some Collection<UInt8>) -> Int? {
        guard !text.isEmpty, text.allSatisfy(\.isDigit) else { return nil }
        return text.reduce(0) { min($0 * 10 + Int($1 - 0x30), maximum) }
    }
}
