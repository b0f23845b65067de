import Foundation

/// The time as `Date` has it (RFC 9110, section 5.6.7).
enum HTTPDateText {
    private static let days = ["Sun", "Mon", "Tue", "Wed", "Thu", "Fri", "Sat"]
    private static let months = [
        "Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec",
    ]

    /// Such as `Sun, 06 Nov 1994 08:49:37 GMT`.
    static func text(_ seconds: Int) -> String {
        var time = time_t(seconds)
        var parts = tm()
        gmtime_r(&time, &parts)
        func two(_ number: Int32) -> String { (number < 10 ? "0" : "") + "\(number)" }
        let day = "\(days[Int(parts.tm_wday)]), \(two(parts.tm_mday))"
        let clock = [parts.tm_hour, parts.tm_min, parts.tm_sec].map(two).joined(separator: ":")
        return "\(day) \(months[Int(parts.tm_mon)]) \(1900 + parts.tm_year) \(clock) GMT"
    }
}
