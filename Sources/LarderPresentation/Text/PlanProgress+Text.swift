import LarderKit

extension PlanProgress {
    /// The line for people: the manifest, icons, rate and time left.
    package var text: ProgressText {
        var text = ProgressText()
        guard let manifest else {
            text.add("comparing \(icons.of("icon")) with the cache", rank: 1)
            return text
        }
        let name = manifest.sanitizedForTerminal
        text.add("reading \(name)", "reading", rank: 3)
        text.add(icons.of("icon"), rank: 0)
        text.add("\(Int(iconsPerSecond))/s", rank: 2)
        if let secondsLeft { text.add("\(DurationText.describe(secondsLeft)) left", rank: 1) }
        return text
    }
}
