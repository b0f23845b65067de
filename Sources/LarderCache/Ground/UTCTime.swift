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
    static func name(_ date: Date) -> String {
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
