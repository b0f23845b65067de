import Foundation

/// Dates in UTC. Uses the C library, as Foundation's time zones would take most of the peak memory.
package enum UTCTime {
    /// Returns a timestamp such as `2026-11-21T06:15:00Z` (RFC 3339).
    package static func timestamp(_ date: Date) -> String {
        // Limits the date to four-digit years.
        var seconds = time_t(min(max(date.timeIntervalSince1970, -62_135_596_800), 253_402_300_799))
        var parts = tm()
        gmtime_r(&seconds, &parts)
        func text(_ number: Int32, _ count: Int = 2) -> Substring { "000\(number)".suffix(count) }
        let day = [text(parts.tm_year + 1900, 4), text(parts.tm_mon + 1), text(parts.tm_mday)]
        let time = [parts.tm_hour, parts.tm_min, parts.tm_sec].map { text($0) }
        return "\(day.joined(separator: "-"))T\(time.joined(separator: ":"))Z"
    }

    /// Returns a timestamp for file names, such as `20261121T061500Z`.
    package static func name(_ date: Date) -> String {
        timestamp(date).filter { !"-:".contains($0) }
    }
}

/// A parser for HTTP dates in all three formats (RFC 9110, section 5.6.7).
package enum HTTPDate {
    /// Parses a date, ignoring case. `now` determines the century of two-digit years. Returns nil
    /// for an invalid date, which counts as a date in the past (RFC 9111, section 5.3).
    package static func parse(_ text: String, now: Date = Date()) -> Date? {
        let bytes = Array(text.utf8)
        guard days.contains(word(bytes[...])) else { return nil }
        if matches("***, ## *** #### ##:##:## GMT", bytes[...]) {
            return date(bytes[5..<7], bytes[8..<11], number(bytes[12..<16]), bytes[17..<25])
        }
        let hasShortDay = matches("*** ***  # ##:##:## ####", bytes[...])
        if hasShortDay || matches("*** *** ## ##:##:## ####", bytes[...]) {
            let day = bytes[(hasShortDay ? 9 : 8)..<10]
            return date(day, bytes[4..<7], number(bytes[20...]), bytes[11..<19])
        }
        let rest = bytes.drop(while: \.isASCIILetterOrDigit)
        let start = rest.startIndex
        guard matches(", ##-***-## ##:##:## GMT", rest), 6...9 ~= start else { return nil }
        let thisYear = Calendar(identifier: .iso8601).component(.year, from: now)
        var year = thisYear / 100 * 100 + number(rest[start + 9..<start + 11])
        // A year more than 50 years ahead is in the past (RFC 9110, section 5.6.7).
        if year > thisYear + 50 { year -= 100 }
        if year <= thisYear - 50 { year += 100 }
        return date(
            rest[start + 2..<start + 4], rest[start + 5..<start + 8], year,
            rest[start + 12..<start + 20])
    }

    private typealias Part = ArraySlice<UInt8>

    private static let days = words("mon tue wed thu fri sat sun")
    private static let months = words("jan feb mar apr may jun jul aug sep oct nov dec")

    private static func words(_ text: String) -> [UInt32] {
        Array(text.utf8).split(separator: 0x20).map(word)
    }

    private static func word(_ bytes: Part) -> UInt32 {
        bytes.prefix(3).reduce(0) { $0 << 8 | UInt32($1 | 0x20) }
    }

    private static func number(_ digits: Part) -> Int {
        digits.reduce(0) { $0 * 10 + Int($1 - 0x30) }
    }

    private static func date(_ day: Part, _ month: Part, _ year: Int, _ time: Part) -> Date? {
        let day = number(day)
        let (hour, minute) = (number(time.prefix(2)), number(time.dropFirst(3).prefix(2)))
        let second = number(time.suffix(2))
        guard let month = months.firstIndex(of: word(month)), 1...31 ~= day,
            hour < 24, minute < 60, second <= 60
        else { return nil }
        var parts = tm()
        (parts.tm_year, parts.tm_mon) = (Int32(year - 1900), Int32(month))
        (parts.tm_mday, parts.tm_hour) = (Int32(day), Int32(hour))
        (parts.tm_min, parts.tm_sec) = (Int32(minute), Int32(second))
        return Date(timeIntervalSince1970: Double(timegm(&parts)))
    }

    /// Whether the bytes match the pattern, ignoring case. `#` matches any digit, `*` any letter.
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

/// Seconds in `max-age` and `Age` (RFC 9111, section 1.2.2).
package enum DeltaSeconds {
    static let maximum = 1 << 31

    package static func parse(_ text: [UInt8]) -> Int? {
        guard !text.isEmpty, text.allSatisfy(\.isDigit) else { return nil }
        return text.reduce(0) { min($0 * 10 + Int($1 - 0x30), maximum) }
    }
}

/// The delay of `Retry-After` (RFC 9110, section 10.2.3).
package enum RetryAfter {
    /// The maximum delay in seconds, about a century.
    private static let longest: Int64 = 3_200_000_000

    package static func delay(
        _ field: String?, date: String?, age: String?, now: Date = Date()
    ) -> Duration? {
        guard let field else { return nil }
        if !field.isEmpty, field.utf8.allSatisfy(\.isDigit) {
            return .seconds(min(Int64(field) ?? longest, longest))
        }
        guard let instant = HTTPDate.parse(field) else { return nil }
        let sent = date.flatMap { HTTPDate.parse($0) }
        // The age is the time since the date of the response.
        let age = sent == nil ? 0 : age.flatMap { TimeInterval($0) } ?? 0
        return .seconds(max(0, instant.timeIntervalSince(sent ?? now) - max(0, min(age, 1e9))))
    }
}
