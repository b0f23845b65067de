import Foundation
import LarderCache
import LarderCore

/// Stores fetched icons in a cache directory, on a queue of its own, batch by batch.
///
/// The directory is opened for the first icon, and let go of when there was none for a while: a
/// `larder reindex` waits for everybody who has it open. What could not be stored is fetched again
/// some day; that fails nobody.
final class IconWriter: Depositor, @unchecked Sendable {
    // Unchecked because there are variables: `lock` guards those behind it; `queue` has all others.

    /// An icon to store, the context of its deposit. It is read from memory until it is committed.
    private struct Unstored: Sendable {
        let number: Int
        let url: HTTPURL
        let icon: FetchedIcon
        let validators: Validators
        let entry: MemoryCache.Entry
        let isReplacing: Bool
    }

    /// If more bytes wait in memory than these, they are committed before the next icon is staged.
    private static let mostWaiting = 16 << 20
    /// So long it stays open without an icon, and is left alone after a failure.
    private static let idleSeconds: TimeInterval = 30

    private let path: String
    private let log: CacheLog
    private let queue = DispatchQueue(label: "larder.icons.write", qos: .utility)

    private let lock = NSLock()
    /// By a URL's key the last one that is not committed yet.
    private var waiting: [String: Unstored] = [:]
    private var waitingBytes = 0
    private var taken = 0
    private var failure: CacheError?

    private var opened: (cache: Cache, store: Store)?
    private var lastUse = Date.distantPast
    private var closesSoon = false
    /// Nothing is tried before, after a failure.
    private var notBefore = Date.distantPast

    init(path: String, log: CacheLog) { (self.path, self.log) = (path, log) }

    deinit {
        // Not on the thread that lets go of this, which may be the app's main one. Nothing is
        // pending: that would keep it.
        guard let opened else { return }
        DispatchQueue.global(qos: .utility).async {
            opened.store.close()
            opened.cache.close()
        }
    }

    func entry(_ key: String) -> MemoryCache.Entry? { lock.withLock { waiting[key]?.entry } }

    var lastFailure: CacheError? { lock.withLock { failure } }

    /// Takes an icon, which can be read from then on, and stores it; false if it may not be stored.
    func take(
        _ icon: FetchedIcon, _ entry: MemoryCache.Entry, for url: HTTPURL, isReplacing: Bool
    ) -> Bool {
        let validators = Validators(icon.values)
        guard !CacheControl(validators.cacheControl).isNoStore else { return false }
        let unstored = lock.withLock {
            taken += 1
            let unstored = Unstored(
                number: taken, url: url, icon: icon, validators: validators, entry: entry,
                isReplacing: isReplacing)
            let replaced = waiting.updateValue(unstored, forKey: url.key)
            waitingBytes += entry.data.count - (replaced?.entry.data.count ?? 0)
            return unstored
        }
        queue.async { [self] in write(unstored) }
        return true
    }

    /// Returns at once if little waits to be committed; else if all that was taken in is staged.
    func waitUntilStorable() async {
        guard lock.withLock({ isMuch }) else { return }
        await withCheckedContinuation { waiter in queue.async { waiter.resume() } }
    }

    func close() {
        queue.sync {
            opened?.store.flush()
            letGo()
        }
    }

    func committed(_ outcomes: [Store.Outcome]) {
        let problems = outcomes.compactMap { outcome in
            if case .failure(let error) = outcome.result { error } else { nil }
        }
        // One icon's own trouble says nothing of the others.
        let problem = problems.first { ![.missing, .obstructed].contains($0.code) }
        lock.withLock {
            failure = problem ?? problems.first
            for case let unstored as Unstored in outcomes.map(\.context) { settle(unstored) }
        }
        if problem != nil { queue.async { [self] in giveUp() } }
    }

    /// With the lock: whether no more are to wait.
    private var isMuch: Bool {
        waitingBytes > Self.mostWaiting || waiting.count >= Store.batchLimit
    }

    /// With the lock: one icon waits no more.
    private func settle(_ unstored: Unstored) {
        let key = unstored.url.key
        // It may have been fetched again meanwhile.
        guard waiting[key]?.number == unstored.number else { return }
        waitingBytes -= unstored.entry.data.count
        waiting[key] = nil
    }

    // MARK: - On the queue

    private func write(_ unstored: Unstored) {
        lastUse = Date()
        do {
            guard lastUse >= notBefore else { return lock.withLock { settle(unstored) } }
            let store = try openStore()
            let data = unstored.entry.data
            let body = try store.newBody { append in try data.withUnsafeBytes(append) }
            let staged = try store.stage(
                body, digest: try body.finish(),
                attributes: ObjectAttributes(mediaType: unstored.entry.mediaType),
                isReplacing: unstored.isReplacing)
            store.add(
                Deposit(
                    context: unstored, key: unstored.url.key, url: unstored.url.string,
                    responseURL: unstored.icon.responseURL, validators: unstored.validators,
                    receivedAt: lastUse, content: .staged(staged)),
                for: self)
            if lock.withLock({ isMuch }) { store.flush() }
        } catch {
            let problem =
                error as? CacheError
                ?? CacheError(.unusable, subject: path, message: "\(error)")
            lock.withLock {
                failure = problem
                settle(unstored)
            }
            giveUp()
        }
    }

    private func openStore() throws -> Store {
        if let opened { return opened.store }
        let cache = try Cache.create(at: path, log: log)
        let store = try cache.store()
        opened = (cache, store)
        closeWhenIdle()
        return store
    }

    private func giveUp() {
        notBefore = Date() + Self.idleSeconds
        letGo()
    }

    private func letGo() {
        guard let (cache, store) = opened else { return }
        opened = nil
        store.close()
        cache.close()
    }

    private func closeWhenIdle() {
        guard !closesSoon else { return }
        closesSoon = true
        queue.asyncAfter(deadline: .now() + Self.idleSeconds) { [weak self] in
            guard let self else { return }
            closesSoon = false
            guard opened != nil else { return }
            if Date() < lastUse + Self.idleSeconds { return closeWhenIdle() }
            opened?.store.flush()
            letGo()
        }
    }
}
