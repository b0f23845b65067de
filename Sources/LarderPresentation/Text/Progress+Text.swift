import LarderKit

extension Progress {
    /// One line for people: count, bytes, rate, failures and time left.
    package var text: String {
        var parts = [
            "\(done)/\(total)", ByteText.describe(receivedBytes),
            "\(ByteText.describe(bytesPerSecond))/s", "\(failed) failed",
        ]
        if let secondsLeft, done < total {
            parts.append("\(DurationText.describe(secondsLeft)) left")
        }
        return parts.joined(separator: "  ")
    }
}
