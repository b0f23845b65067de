/// Byte counts as text (1 kB is 1,000 bytes).
package enum ByteText {
    /// Examples: `999 B`, `1.5 kB`, `45.2 MB`.
    package static func describe(_ bytes: Int64) -> String { describe(Double(bytes)) }

    package static func describe(_ bytes: Double) -> String {
        guard bytes >= 1000 else { return "\(Int(bytes)) B" }
        var (value, unit) = (bytes, "")
        for name in ["kB", "MB", "GB", "TB", "PB"] where value >= 999.95 || unit.isEmpty {
            (value, unit) = (value / 1000, name)
        }
        return "\(decimal(value)) \(unit)"
    }

    static func decimal(_ value: Double) -> String {
        let tenths = Int((value * 10).rounded())
        return "\(tenths / 10).\(tenths % 10)"
    }
}

extension Int {
    package func of(_ one: String, _ several: String? = nil) -> String {
        "\(self) \(self == 1 ? one : several ?? one + "s")"
    }
}

package enum DurationText {
    /// Examples: `0.4 s`, `59 s`, `3 min 20 s`, `2 h 5 min`, `30 d 4 h`.
    package static func describe(_ seconds: Double) -> String {
        // A damaged file can contain any value, even NaN.
        let seconds = seconds > 0 ? min(seconds, 3e13) : 0
        if seconds < 10 { return "\(ByteText.decimal(seconds)) s" }
        let whole = Int(seconds.rounded())
        if whole < 60 { return "\(whole) s" }
        if whole < 3600 { return "\(whole / 60) min \(whole % 60) s" }
        if whole < 48 * 3600 { return "\(whole / 3600) h \(whole % 3600 / 60) min" }
        return "\(whole / 86_400) d \(whole % 86_400 / 3600) h"
    }
}
