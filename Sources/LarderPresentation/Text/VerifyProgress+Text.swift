import LarderCache
import LarderKit

extension VerifyProgress {
    /// One line for people: count, bytes, rate, findings and time left.
    package var text: String {
        let count = total.map { "\(objects)/\($0)" } ?? "\(objects)"
        var parts = [
            "\(count) objects", ByteText.describe(bytes),
            "\(ByteText.describe(bytesPerSecond))/s", "\(findings) found",
        ]
        if let secondsLeft, secondsLeft > 0 {
            parts.append("\(DurationText.describe(secondsLeft)) left")
        }
        return parts.joined(separator: "  ")
    }
}
