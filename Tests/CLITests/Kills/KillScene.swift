import LarderTestSupport

/// A command that is killed again and again, each time in a copy of the same cache.
protocol KillScene {
    /// Fills the cache to begin with, and measures the command.
    init(in directory: TemporaryDirectory) throws

    /// One kill, an examination of what it left, and a run that completes the work.
    ///
    /// - Throws: ``BrokenPromise`` where a promise was broken.
    mutating func round(using random: inout Pseudorandom) throws -> KillOutcome
}

/// How far a command had come when it was killed.
enum KillOutcome: CaseIterable {
    /// It had changed nothing.
    case before
    /// Some of its work was done.
    case inside
    /// All of it was done.
    case after
    /// It had ended by itself.
    case late
}
