import LarderRehearsal

extension ProgressText {
    /// The line for people: how much of the scroll a strategy is through with.
    package static func scroll(_ strategy: StrategyName, _ share: Double) -> ProgressText {
        var text = ProgressText()
        text.add(strategy.rawValue, rank: 1)
        let percent = "\(Int(share * 100)) %"
        text.add("\(percent) of the scroll", percent, rank: 1)
        return text
    }
}
