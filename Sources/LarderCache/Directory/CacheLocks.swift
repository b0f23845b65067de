import Foundation
import LarderCore

/// How long to wait for a lock that another process holds, and whom to tell. There is no queue: a
/// reindex may wait for long if there are ever new users of the cache.
public struct LockWait: Sendable {
    /// How long; nil waits for as long as it takes.
    public var limit: Duration?
    /// Called once, when a wait has lasted a second, with what is waited for. Default: nothing.
    public var onWait: @Sendable (String) -> Void
    /// Asked ten times a second: true gives up as if the time were over. Default: never.
    public var isCancelled: @Sendable () -> Bool

    /// Fails at once.
    public static let none = LockWait(limit: .zero)
    /// Waits for as long as it takes.
    public static let unlimited = LockWait(limit: nil)

    /// Waits so long at most; nil: for as long as it takes.
    public init(
        limit: Duration?, onWait: @escaping @Sendable (String) -> Void = { _ in },
        isCancelled: @escaping @Sendable () -> Bool = { false }
    ) {
        self.limit = limit
        self.onWait = onWait
        self.isCancelled = isCancelled
    }

    func logged(in log: CacheLog) -> LockWait {
        var logged = self
        logged.onWait = { [onWait] in
            log(.info, $0)
            onWait($0)
        }
        return logged
    }

    /// For a lock that is only held for moments.
    var unlimited: LockWait { LockWait(limit: nil, onWait: onWait, isCancelled: isCancelled) }

    /// Takes a lock of flock(2): `LOCK_SH` or `LOCK_EX`. Throws `.locked` when the time is over.
    /// Polls every 1 to 100 ms, because only signals, the program's own, end a waiting flock(2).
    func take(
        _ operation: Int32, on file: FileDescriptor, subject: String, describeHolder: () -> String
    ) throws(CacheError) {
        let start = ContinuousClock.now
        var pause = Duration.milliseconds(1)
        var isTold = false
        while flock(file.raw, operation | LOCK_NB) != 0 {
            guard errno != EINTR else { continue }
            guard errno == EWOULDBLOCK else {
                throw CacheError("lock", subject: subject, errno: errno)
            }
            let waited = ContinuousClock.now - start
            if limit.map({ waited >= $0 }) ?? false || isCancelled() {
                throw CacheError(.locked, subject: subject, message: describeHolder())
            }
            if !isTold, waited >= .seconds(1) {
                isTold = true
                onWait("waiting for \(subject): \(describeHolder())")
            }
            let rest = limit.map { $0 - waited } ?? pause
            Thread.sleep(forTimeInterval: min(pause, rest) / .seconds(1))
            pause = min(pause * 2, .milliseconds(100))
        }
    }
}

/// A lock by name between runs. Its file is never removed: other processes may wait for it.
package final class NamedLock: Sendable {
    private let file: FileDescriptor

    /// Takes the lock `name`, and tells waiting processes of `command`. Take it before the cache is
    /// opened, so that a waiting run holds nothing else.
    package init(
        _ name: String, ofCacheAt path: String, create: Bool, for command: String,
        wait: LockWait = .none
    ) throws(CacheError) {
        let subject = "\(CacheLayout.locks)/\(name)"
        guard Self.isName(name) else {
            throw CacheError(.unusable, subject: name, message: "is not a name of a lock")
        }
        // Without its lock: another process may have the cache and wait for this name.
        let cache = try CacheDirectory(path: path, create: create, lock: .none)
        let locks = try cache.root.directory(CacheLayout.locks, create: true)
        let file = try locks.createOrOpen(name)
        try wait.take(LOCK_EX, on: file, subject: "\(cache.path)/\(subject)") {
            "held by \(Self.holder(file) ?? "another process")"
        }
        self.file = file
        // For people; nothing depends on it.
        let note = Array("\(getpid()) \(command)\n".utf8)
        if ftruncate(file.raw, 0) == 0 { _ = pwrite(file.raw, note, note.count, 0) }
    }

    deinit { file.unlock() }

    /// Whether a text can name a lock: letters and digits of ASCII, `.`, `_` and `-`, at most 100.
    package static func isName(_ text: String) -> Bool {
        (1...100).contains(text.utf8.count) && text != "." && text != ".."
            && text.utf8.allSatisfy { $0.isASCIILetterOrDigit || "._-".utf8.contains($0) }
    }

    /// Who noted that it holds the lock; nil if that process has ended, and another is about to.
    private static func holder(_ file: FileDescriptor) -> String? {
        guard let bytes = try? file.read(at: 0, atMost: 200) else { return nil }
        let line = String(decoding: bytes, as: UTF8.self).prefix { $0 != "\n" }
        let words = line.split(separator: " ", maxSplits: 1)
        guard words.count == 2, let id = pid_t(words[0]), id > 0,
            kill(id, 0) == 0 || errno == EPERM
        else { return nil }
        return "\(words[1]) (process \(id))"
    }
}

/// How long to wait for SQLite's lock on the index: ``grace`` at least, as transactions are short.
final class WriterWait: @unchecked Sendable {
    // Unchecked because the state is variables; every access holds `lock`. (`Mutex` needs iOS 18.)

    static let grace = Duration.seconds(5)
    static let moment = Duration.milliseconds(100)

    private let wait: LockWait
    private let subject: String
    private let lock = NSLock()
    private var limit: Duration?
    private var start = ContinuousClock.now
    private var isTold = false

    init(_ wait: LockWait, subject: String) {
        self.wait = wait
        self.subject = subject
        limit = wait.limit.map { max($0, Self.grace) }
    }

    /// Called by SQLite while another process has the lock; false gives up. SQLite's own waits of
    /// up to 100 ms would miss the few milliseconds between the steps of an eviction.
    func goesOn(_ attempt: Int) -> Bool {
        let (waited, isOver, tells) = lock.withLock {
            if attempt == 0 { (start, isTold) = (.now, false) }
            let waited = ContinuousClock.now - start
            let tells = !isTold && waited >= .seconds(1)
            if tells { isTold = true }
            return (waited, limit.map { waited >= $0 } ?? false, tells)
        }
        if isOver || wait.isCancelled() { return false }
        if tells { wait.onWait("waiting for \(subject): another process writes to it") }
        usleep(waited < .seconds(1) ? .random(in: 500...1_500) : 10_000)
        return true
    }

    /// Waits for at most `limit` during `body`, without a grace.
    func limited<Value, Failure: Error>(
        to limit: Duration, _ body: () throws(Failure) -> Value
    ) throws(Failure) -> Value {
        let usual = lock.withLock { self.limit }
        lock.withLock { self.limit = min(limit, usual ?? limit) }
        defer { lock.withLock { self.limit = usual } }
        return try body()
    }
}
