import LarderKit

extension Progress {
    /// The line for people: what has arrived of all, what is stored, under way and waiting, bytes,
    /// rate, failures and time left.
    package var text: ProgressText {
        var text = ProgressText()
        text.add("\(arrived)/\(total)", rank: 0)
        if done < arrived { text.add("\(done) stored", rank: 7) }
        if underWay > 0 { text.add("\(underWay) under way", rank: 8) }
        if waiting > 0 {
            text.add("\(waiting) waiting to retry", "\(waiting) to retry", rank: 1)
            if let secondsToAttempt, secondsToAttempt > 0 {
                text.add("next in \(Int(secondsToAttempt.rounded(.up))) s", rank: 2)
            }
        }
        text.add(ByteText.describe(receivedBytes), rank: 6)
        text.add("\(ByteText.describe(bytesPerSecond))/s", rank: 5)
        text.add("\(failed) failed", rank: failed > 0 ? 3 : 9)
        if let secondsLeft, arrived < total {
            text.add("\(DurationText.describe(secondsLeft)) left", rank: 4)
        }
        return text
    }
}
