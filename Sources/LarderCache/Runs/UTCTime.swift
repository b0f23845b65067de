import Foundation

/// Instants as text, in UTC and in whole seconds.
///
/// By the C library: Foundation asks for the time zone first, and ICU's data come into memory for it, which made
/// the peak of a run in its last milliseconds.
package enum UTCTime {
    /// `2026-11-21T06:15:00Z` (RFC 3339).
    package static func timestamp(_ date: Date) -> String { text(date, "%Y-%m-%dT%H:%M:%SZ") }

    /// `20261121T061500Z`, for the name of a file.
    static func name(_ date: Date) -> String { text(date, "%Y%m%dT%H%M%SZ") }

    private static func text(_ date: Date, _ format: String) -> String {
        // A foreign record may name any time; what has more than four digits of years does not fit.
        var seconds = time_t(min(max(date, .distantPast), .distantFuture).timeIntervalSince1970)
        var parts = tm()
        gmtime_r(&seconds, &parts)
        return withUnsafeTemporaryAllocation(of: CChar.self, capacity: 32) { text in
            strftime(text.baseAddress!, text.count, format, &parts)
            return String(cString: text.baseAddress!)
        }
    }
}
