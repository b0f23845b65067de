import Foundation
import LarderCache
import LarderCore

/// Stores fetched icons in a cache directory, in batches, on a queue.
///
/// The directory is opened for the first icon, and closed when it is idle: `larder reindex` waits
/// for every process that has it open. A failed icon is fetched again later.
final class IconWriter: Depositor, @unchecked Sendable {
    // Unchecked because there are variables: `lock` guards those behind it; `queue` has all others.

    /// An icon that is read from memory until it is committed.
    private struct Unstored: Sendable {
        let number: Int
        let url: HTTPURL
        let icon: FetchedIcon
        let validators: Validators
        let entry: MemoryCache.Entry
        let isReplacing: Bool
    }

    /// The context of a deposit. Without the bytes, which a newer icon of the key may replace.
    private struct Deposited: Sendable {
        let key: String
        let number: Int
    }

    /// If more bytes wait in memory, they are committed before the next icon is staged.
    private static let mostWaiting = 16 << 20
    /// The time until the directory is closed, or tried again after a failure.
    private static let idleSeconds: TimeInterval = 30

    private let path: String
    private let log: CacheLog
    private let queue = DispatchQueue(label: "larder.icons.write", qos: .utility)

    private let lock = NSLock()
    /// By the URL's key. Only the last icon of each.
    private var waiting: [String: Unstored] = [:]
    private var waitingBytes = 0
    private var taken = 0
    private var failure: CacheError?

    private var opened: (cache: Cache, store: Store)?
    private var lastUse = Date.distantPast
    private var closesSoon = false
    /// Set after a failure.
    private var notBefore = Date.distantPast

    init(path: String, log: CacheLog) { (self.path, self.log) = (path, log) }

    deinit {
        // Not on this thread, which may be the app's main one. Nothing is pending, since that would
        // retain this object.
        guard let opened else { return }
        DispatchQueue.global(qos: .utility).async {
            opened.store.close()
            opened.cache.close()
        }
    }

    func entry(_ key: String) -> MemoryCache.Entry? { lock.withLock { waiting[key]?.entry } }
    var lastFailure: CacheError? { lock.withLock { failure } }

    /// Stores an icon, which can be read at once. Returns false if it must not be stored.
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

    /// Waits until all icons are staged, if too many wait.
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
        // These concern only one icon.
        let problem = problems.first { ![.missing, .obstructed].contains($0.code) }
        lock.withLock {
            failure = problem ?? problems.first
            for case let deposited as Deposited in outcomes.map(\.context) { settle(deposited) }
        }
        if problem != nil { queue.async { [self] in giveUp() } }
    }

    /// With the lock.
    private var isMuch: Bool {
        waitingBytes > Self.mostWaiting || waiting.count >= Store.batchLimit
    }

    /// With the lock.
    private func settle(_ deposited: Deposited) {
        // It may have been fetched again.
        guard let unstored = waiting[deposited.key], unstored.number == deposited.number else {
            return
        }
        waitingBytes -= unstored.entry.data.count
        waiting[deposited.key] = nil
    }

    // Only the queue calls the rest.

    private func write(_ unstored: Unstored) {
        lastUse = Date()
        let deposited = Deposited(key: unstored.url.key, number: unstored.number)
        do {
            guard lastUse >= notBefore else { return lock.withLock { settle(deposited) } }
            let store = try openStore()
            let data = unstored.entry.data
            let body = try store.newBody { append in try data.withUnsafeBytes(append) }
            let staged = try store.stage(
                body, digest: try body.finish(),
                attributes: ObjectAttributes(mediaType: unstored.entry.mediaType),
                isReplacing: unstored.isReplacing)
            store.add(
                Deposit(
                    context: deposited, key: unstored.url.key, url: unstored.url.string,
                    responseURL: unstored.icon.responseURL, validators: unstored.validators,
                    receivedAt: lastUse, content: .staged(staged)),
                for: self)
            if lock.withLock({ isMuch }) { store.flush() }
        } catch {
            let problem =
                error as? CacheError ?? CacheError(.unusable, subject: path, message: "\(error)")
            lock.withLock {
                failure = problem
                settle(deposited)
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
