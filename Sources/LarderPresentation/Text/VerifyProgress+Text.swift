import LarderCache
import LarderKit

extension VerifyProgress {
    /// The line for people: count, bytes, rate, findings and time left.
    package var text: ProgressText {
        var text = ProgressText()
        text.add(total.map { "\(objects)/\($0) objects" } ?? "\(objects) objects", rank: 0)
        text.add(ByteText.describe(bytes), rank: 4)
        text.add("\(ByteText.describe(bytesPerSecond))/s", rank: 3)
        text.add("\(findings) found", rank: findings > 0 ? 1 : 5)
        if let secondsLeft, secondsLeft > 0 {
            text.add("\(DurationText.describe(secondsLeft)) left", rank: 2)
        }
        return text
    }
}
