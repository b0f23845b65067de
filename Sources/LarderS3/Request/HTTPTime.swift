import Foundation

/// The date of an HTTP field (RFC 9110, section 5.6.7), as S3 stores send it.
enum HTTPTime {
    private static let strategy = Date.ParseStrategy(
        format: """
            \(weekday: .abbreviated), \(day: .twoDigits) \(month: .abbreviated) \
            \(year: .padded(4)) \
            \(hour: .twoDigits(clock: .twentyFourHour, hourCycle: .zeroBased)):\
            \(minute: .twoDigits):\(second: .twoDigits) GMT
            """,
        locale: Locale(identifier: "en_US_POSIX"), timeZone: .gmt)

    static func date(_ text: String) -> Date? { try? strategy.parse(text) }
}
