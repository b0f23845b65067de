import Foundation
import LarderCache

/// Stores fetched icons in a cache directory, on a queue of its own, batch by batch.
///
/// The directory is opened for the first icon, and let go of when there was none for a while: a
/// `larder reindex` waits for everybody who has it open. What could not be stored is fetched again
/// some day; that fails nobody.
final class IconWriter: Depositor, @unchecked Sendable {
    // Unchecked because there are variables: `lock` guards `waiting`, `waitingBytes` and `failure`;
    // all others belong to `queue`.

    /// So many bytes wait in memory to be committed; then the next icon waits.
    private static let mostWaiting = 16 << 20
    /// So long it stays open without an icon, and is left alone after a failure.
    private static let idleSeconds: TimeInterval = 30

    private let path: String
    private let queue = DispatchQueue(label: "larder.icons.write", qos: .utility)

    private let lock = NSLock()
    /// Icons that are not committed yet: they are read from here.
    private var waiting: [String: (token: Int64, entry: MemoryCache.Entry)] = [:]
    private var waitingBytes = 0
    private var failure: CacheError?

    private var opened: (cache: Cache, store: Store)?
    private var keys: [Int64: String] = [:]
    private var lastToken: Int64 = 0
    private var lastUse = Date.distantPast
    private var closesSoon = false
    /// Nothing is tried before, after a failure.
    private var notBefore = Date.distantPast

    init(path: String) { self.path = path }

    deinit {
        // Not on the thread that lets go of this, which may be the app's main one. Nothing is
        // pending: that would keep it.
        guard let opened else { return }
        DispatchQueue.global(qos: .utility).async {
            opened.store.close()
            opened.cache.close()
        }
    }

    /// An icon that is not committed yet.
    func entry(_ key: String) -> MemoryCache.Entry? { lock.withLock { waiting[key]?.entry } }

    /// Why icons could not be stored when that was last tried; nil if they could.
    var lastFailure: CacheError? { lock.withLock { failure } }

    /// Has an icon stored; returns when it is staged, which is not yet committed.
    ///
    /// - Parameter isReplacing: whether what is stored of it is damaged.
    func store(
        _ icon: FetchedIcon, _ entry: MemoryCache.Entry, for key: String, isReplacing: Bool
    ) async {
        let validators = Validators(icon.values)
        guard !CacheControl(validators.cacheControl).isNoStore else { return }
        await withCheckedContinuation { waiter in
            queue.async { [self] in
                write(icon, validators, entry, for: key, isReplacing)
                waiter.resume()
            }
        }
    }

    /// Commits what waits, and closes the directory.
    func close() {
        queue.sync {
            opened?.store.flush()
            letGo()
        }
    }

    func committed(_ outcomes: [Store.Outcome]) {
        let problem = outcomes.compactMap { outcome in
            if case .failure(let error) = outcome.result { error } else { nil }
        }.first
        lock.withLock { failure = problem }
        queue.async { [self] in
            for outcome in outcomes { settle(outcome.token) }
            if problem != nil { giveUp() }
        }
    }

    // MARK: - On the queue

    private func write(
        _ icon: FetchedIcon, _ validators: Validators, _ entry: MemoryCache.Entry, for key: String,
        _ isReplacing: Bool
    ) {
        lastUse = Date()
        guard lastUse >= notBefore else { return }
        do {
            let store = try openStore()
            let body = try store.newBody { append in try entry.data.withUnsafeBytes(append) }
            let staged = try store.stage(
                body, digest: try body.finish(),
                attributes: ObjectAttributes(mediaType: entry.mediaType),
                isReplacing: isReplacing)
            lastToken += 1
            let token = lastToken
            keys[token] = key
            let isMuch = lock.withLock {
                waitingBytes += entry.data.count - (waiting[key]?.entry.data.count ?? 0)
                waiting[key] = (token, entry)
                return waitingBytes > Self.mostWaiting || waiting.count >= Store.batchLimit
            }
            store.add(
                Deposit(
                    token: token, key: key, url: key, responseURL: icon.responseURL,
                    validators: validators, receivedAt: lastUse, content: .staged(staged)),
                for: self
            ) {}
            if isMuch { store.flush() }
        } catch {
            let problem =
                error as? CacheError
                ?? CacheError(.unusable, subject: path, message: "\(error)")
            lock.withLock { failure = problem }
            giveUp()
        }
    }

    private func openStore() throws -> Store {
        if let opened { return opened.store }
        let cache = try Cache.create(at: path)
        let store = try cache.store()
        opened = (cache, store)
        closeWhenIdle()
        return store
    }

    private func settle(_ token: Int64) {
        guard let key = keys.removeValue(forKey: token) else { return }
        lock.withLock {
            // It may have been fetched again meanwhile.
            guard let known = waiting[key], known.token == token else { return }
            waitingBytes -= known.entry.data.count
            waiting[key] = nil
        }
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
