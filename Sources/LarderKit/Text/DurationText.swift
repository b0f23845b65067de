/// Durations for people.
package enum DurationText {
    /// `0.4 s`, `59 s`, `3 min 20 s`, `2 h 5 min`, `30 d 4 h`.
    package static func describe(_ seconds: Double) -> String {
        // Beyond a million years it is damage, and so is what is not a number.
        let seconds = seconds > 0 ? min(seconds, 3e13) : 0
        if seconds < 10 { return "\(ByteText.decimal(seconds)) s" }
        let whole = Int(seconds.rounded())
        if whole < 60 { return "\(whole) s" }
        if whole < 3600 { return "\(whole / 60) min \(whole % 60) s" }
        if whole < 48 * 3600 { return "\(whole / 3600) h \(whole % 3600 / 60) min" }
        return "\(whole / 86_400) d \(whole % 86_400 / 3600) h"
    }
}
