import LarderCache
import LarderKit

extension ObjectProgress {
    /// The line for people: what is done of all, bytes, rate and time left.
    ///
    /// - Parameter verb: what was done to the objects: `copied`.
    package func text(_ verb: String) -> ProgressText {
        var text = ProgressText()
        let count = total.map { "\(objects)/\($0)" } ?? "\(objects)"
        text.add("\(count) objects \(verb)", "\(count) objects", count, rank: 1)
        text.add(ByteText.describe(bytes), rank: 4)
        text.add("\(Int(objectsPerSecond))/s", rank: 3)
        if let secondsLeft, secondsLeft > 0 {
            text.add("\(DurationText.describe(secondsLeft)) left", rank: 2)
        }
        return text
    }
}
