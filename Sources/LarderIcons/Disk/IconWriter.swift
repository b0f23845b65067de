import Foundation
import LarderCache
import LarderCore

/// A writer that stores fetched icons in batches on its own queue.
///
/// An idle writer closes its directory, because `larder reindex` waits until all processes have
/// closed it. An icon that could not be stored is fetched again later.
final class IconWriter: Depositor, @unchecked Sendable {
    // Unchecked because `lock` guards one group of variables, and only `queue` uses the other.

    private struct Unstored: Sendable {
        let number: Int
        let url: HTTPURL
        let icon: FetchedIcon
        let validators: Validators
        let entry: MemoryCache.Entry
        let isReplacing: Bool
    }

    /// The total size of the waiting icons, in bytes, above which a batch is committed.
    private static let maximumWaitingBytes = 16 << 20
    /// The time in seconds until an idle directory is closed, or a failed writer tries again.
    private static let idleSeconds: TimeInterval = 30
    private let path: String
    private let log: CacheLog
    private let queue = DispatchQueue(label: "larder.icons.write", qos: .utility)

    private let lock = NSLock()
    private var waiting: [String: Unstored] = [:]
    private var waitingBytes = 0
    private var taken = 0
    private var failure: CacheError?

    private var opened: (cache: Cache, store: Store)?
    private var lastUse = Date.distantPast
    private var notBefore = Date.distantPast

    init(path: String, log: CacheLog) { (self.path, self.log) = (path, log) }

    deinit {
        // Closing would block the main thread. Nothing is pending, because work retains `self`.
        guard let opened else { return }
        DispatchQueue.global(qos: .utility).async {
            opened.store.close()
            opened.cache.close()
        }
    }

    func entry(_ key: String) -> MemoryCache.Entry? { lock.withLock { waiting[key]?.entry } }
    var lastFailure: CacheError? { lock.withLock { failure } }

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

    func waitUntilStorable() async {
        guard lock.withLock({ isFull }) else { return }
        await withCheckedContinuation { waiter in queue.async { waiter.resume() } }
    }

    func close() {
        queue.sync {
            opened?.store.flush()
            closeStore()
        }
    }

    func committed(_ outcomes: [Store.Outcome]) {
        let problems = outcomes.compactMap { outcome in
            if case .failure(let error) = outcome.result { error } else { nil }
        }
        // Errors with these codes affect only one icon.
        let problem = problems.first { ![.missing, .obstructed].contains($0.code) }
        lock.withLock {
            failure = problem ?? problems.first
            for case let unstored as Unstored in outcomes.map(\.context) { remove(unstored) }
        }
        if problem != nil { queue.async { [self] in closeAfterFailure() } }
    }

    private var isFull: Bool {
        waitingBytes > Self.maximumWaitingBytes || waiting.count >= Store.batchLimit
    }

    private func remove(_ unstored: Unstored) {
        // The icon may have been fetched again.
        guard waiting[unstored.url.key]?.number == unstored.number else { return }
        waitingBytes -= unstored.entry.data.count
        waiting[unstored.url.key] = nil
    }

    // The functions below run on `queue`.

    private func write(_ unstored: Unstored) {
        lastUse = Date()
        do {
            guard lastUse >= notBefore else { return lock.withLock { remove(unstored) } }
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
            if lock.withLock({ isFull }) { store.flush() }
        } catch {
            let problem =
                error as? CacheError ?? CacheError(.unusable, subject: path, message: "\(error)")
            lock.withLock {
                failure = problem
                remove(unstored)
            }
            closeAfterFailure()
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

    private func closeAfterFailure() {
        notBefore = Date() + Self.idleSeconds
        closeStore()
    }

    private func closeStore() {
        guard let (cache, store) = opened else { return }
        opened = nil
        store.close()
        cache.close()
    }

    private func closeWhenIdle() {
        queue.asyncAfter(deadline: .now() + Self.idleSeconds) { [weak self] in
            guard let self, opened != nil else { return }
            if Date() < lastUse + Self.idleSeconds { return closeWhenIdle() }
            opened?.store.flush()
            closeStore()
        }
    }
}
