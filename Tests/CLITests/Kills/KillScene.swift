import LarderTestSupport

/// A command that is killed repeatedly, each time in a copy of the same cache.
protocol KillScene {
    /// Fills the base cache and measures the command.
    init(in directory: TemporaryDirectory) throws

    /// Kills the command once, checks the cache, and completes the work with another run.
    ///
    /// - Throws: ``BrokenPromise`` if a promise was broken.
    mutating func round(using random: inout Pseudorandom) throws -> KillOutcome
}

/// The progress of a command when it was killed.
enum KillOutcome: CaseIterable {
    /// Nothing was changed.
    case before
    /// Some of its work was done.
    case inside
    /// All of its work was done.
    case after
    /// The command had already ended.
    case late
}
