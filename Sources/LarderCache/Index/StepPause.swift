import Foundation

/// When long work leaves SQLite's write lock to others between its steps.
///
/// Who waits for the lock asks for it every millisecond, and nobody can see that it waits. So the
/// lock is left free after each step while others commit, and else so often that whoever comes does
/// not wait long.
final class StepPause: @unchecked Sendable {
    // Unchecked because the state is variables; every access holds `lock`. (`Mutex` needs iOS 18.)

    /// How long the lock is left free.
    private static let microseconds: UInt32 = 3_000
    /// How long the lock is kept at most if nobody has committed of late; a step more than that.
    private static let patience = Duration.milliseconds(40)
    /// How long whoever has committed is expected to commit again.
    private static let company = Duration.seconds(1)

    private let lock = NSLock()
    private var version: Int?
    private var lastCommit: ContinuousClock.Instant?
    private var lastPause = ContinuousClock.now

    /// Called after each step, outside its transaction.
    ///
    /// - Parameter version: `PRAGMA data_version` of the connection that has written the step:
    ///   another one than before if others have committed since.
    func stepEnded(_ version: Int?) {
        let isDue = lock.withLock {
            if self.version != nil, version != self.version { lastCommit = .now }
            self.version = version
            let isAlone = lastCommit.map { ContinuousClock.now - $0 >= Self.company } ?? true
            return !isAlone || ContinuousClock.now - lastPause >= Self.patience
        }
        guard isDue else { return }
        usleep(Self.microseconds)
        lock.withLock { lastPause = .now }
    }
}
