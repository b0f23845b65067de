import Foundation
import LarderCache
import LarderCore
import LarderHTTP
import LarderManifest
import Synchronization

/// A manifest at an http or https URL. It is downloaded whole, to a file without a name, before any
/// of it is read; a run keeps it in its cache, so that one that has not changed costs a conditional
/// request. Its entries are held to the same rules as those of any other manifest.
package struct RemoteManifest: Sendable {
    /// Where it is.
    package var url: HTTPURL
    /// How connections are made: time-outs, certificates, refused addresses, User-Agent.
    package var transfer: TransferConfiguration
    /// Which failures are tried again, how often and when.
    package var retry = RetryPolicy()
    /// Header fields to be sent. Default: none but those that larder itself needs.
    package var headers: [HeaderRule] = []
    /// Whether redirects from https to http are followed. Default: false.
    package var allowsDowngrade = false
    /// A longer one is refused; counted after decoding, and of a gzip file unpacked. Default: 256
    /// MiB.
    package var maximumBytes: Int64 = 256 << 20

    /// A manifest at `url`.
    package init(_ url: HTTPURL, transfer: TransferConfiguration = .init()) {
        self.url = url
        self.transfer = transfer
    }

    /// Where it is kept between runs. Default: nil, nowhere.
    var shelf: ManifestShelf?
    /// Asked a few times a second: true ends the download. Default: never.
    var isCancelled: @Sendable () -> Bool = { false }

    /// The bytes, and where redirects have led: what its relative URLs are resolved against.
    ///
    /// Each download asks about what is kept, fresh or not: whoever names a URL means what is there
    /// now.
    ///
    /// - Throws: ``ManifestError`` `.unreadable`, `.tooLarge`, or `.missing` if only the shelf
    ///   is asked; `CacheError`, `CancellationError`.
    package func download() throws -> OpenedManifest {
        if let shelf, shelf.store == nil { return try shelf.take(url) }
        let start = ContinuousClock.now
        let loop: TransferLoop
        do throws(TransferError) {
            loop = try TransferLoop(configuration: transfer)
        } catch {
            throw ManifestError(.unreadable, source: "\(url)", error.message)
        }
        defer { loop.shutdown() }
        var kept = try shelf?.kept(url)
        var attempt = 1
        while true {
            let failure: FetchFailure
            switch try fetch(with: loop, kept) {
            case .success(let opened): return opened
            case .failure(let error): failure = error
            }
            if isCancelled() { throw CancellationError() }
            if failure.code == TransferError.Code.tooLarge.rawValue {
                throw ManifestError(
                    .tooLarge, source: "\(url)",
                    failure.message + "; --max-manifest-size permits more")
            }
            if failure.asksUnconditionally { kept = nil }
            let next = retry.nextAttempt(
                after: failure, attempt: attempt, since: start,
                hold: failure.retryAfter.map { .now + $0 })
            switch next {
            case .success(let instant): try wait(until: instant)
            case .failure(let failure):
                throw ManifestError(.unreadable, source: "\(url)", failure.message)
            }
            attempt += 1
        }
    }

    private func wait(until instant: ContinuousClock.Instant) throws {
        while case let rest = instant - .now, rest > .zero {
            if isCancelled() { throw CancellationError() }
            Thread.sleep(forTimeInterval: min(rest, .milliseconds(50)) / .seconds(1))
        }
    }

    /// One attempt, redirects followed.
    private func fetch(
        with loop: TransferLoop, _ kept: Cache.KeptManifest?
    ) throws -> Result<OpenedManifest, FetchFailure> {
        let policy = policy
        var target = RequestTarget(url)
        while true {
            let start = ContinuousClock.now
            // Another URL's 304 would not vouch for it.
            let known = kept?.resource.responseURL == target.url.string ? kept : nil
            let receiver = try ManifestReceiver(name: "\(url)") {
                [target, known = known?.resource] in
                policy.verdict(on: $0, to: target, about: known)
            }
            let id = loop.start(
                policy.request(to: target, about: known?.resource), receiver: receiver)
            let outcome = receiver.wait(for: id, on: loop, unless: isCancelled)
            func response(_ head: ResponseHead) -> ManifestResponse {
                let validators = Validators(head.headers.all)
                return ManifestResponse(
                    url: url, target: target, validators: validators,
                    variant: policy.variant(validators, at: target),
                    delay: ContinuousClock.now - start)
            }
            switch outcome {
            case .body(let file, let head):
                var opened = OpenedManifest(descriptor: file, baseURL: target.url)
                let response = response(head)
                if let shelf, policy.mayStore(response.validators) {
                    // What turns out not to be a manifest must not replace one, and credentials are
                    // not for the disk.
                    opened.whenRead = { hasCredentials in
                        if !hasCredentials { try shelf.put(file, of: response) }
                    }
                }
                return .success(opened)
            case .notModified(let head):
                guard let known else { return .failure(FetchFailure(status: 304)) }
                let response = response(head)
                do throws(FetchFailure) {
                    let content = try policy.confirmation(
                        of: known.resource, by: response.validators)
                    shelf?.note(content, of: known, by: response)
                    return .success(
                        OpenedManifest(
                            descriptor: known.file.descriptor, baseURL: known.file.baseURL))
                } catch {
                    return .failure(error)
                }
            case .redirect(let location, let freshUntil):
                do throws(FetchFailure) {
                    try target.follow(
                        location, freshUntil: freshUntil, allowsDowngrade: allowsDowngrade)
                } catch {
                    return .failure(error)
                }
            case .failed(let failure): return .failure(failure)
            }
        }
    }

    private var policy: FetchPolicy {
        FetchPolicy(
            headers: RequestHeaders(
                rules: headers, accept: "application/json, application/x-plist, */*;q=0.8",
                userAgent: transfer.userAgent, usesNetrc: transfer.netrcFile != nil),
            maximumBodyBytes: maximumBytes, storesUnstorable: shelf?.storesUnstorable ?? false)
    }
}

/// Writes a response's body into a file without a name.
final class ManifestReceiver: TransferReceiver {
    enum Outcome {
        /// The whole body: a descriptor at its beginning, now the caller's.
        case body(Int32, ResponseHead)
        case notModified(ResponseHead)
        case redirect(String, freshUntil: Date)
        case failed(FetchFailure)
    }

    private struct State {
        var head: ResponseHead?
        var verdict: ResponseVerdict?
        var result: Result<TransferMetrics, TransferError>?
    }

    private let decide: @Sendable (ResponseHead) -> ResponseVerdict
    private let file: UnnamedFile
    private let state = Mutex(State())
    private let ended = DispatchSemaphore(value: 0)

    /// - Parameter decide: says what a response's head leads to.
    init(
        name: String, decide: @escaping @Sendable (ResponseHead) -> ResponseVerdict
    ) throws(ManifestError) {
        self.decide = decide
        file = try UnnamedFile(for: name)
    }

    /// Waits for the transfer's end. Must be called once.
    ///
    /// - Parameter isCancelled: asked a few times a second: true ends the transfer.
    func wait(for id: TransferID, on loop: TransferLoop, unless isCancelled: () -> Bool) -> Outcome
    {
        while ended.wait(timeout: .now() + .milliseconds(50)) == .timedOut {
            if isCancelled() { loop.cancel(id) }
        }
        let outcome: Outcome = state.withLock { settled($0) }
        if case .body = outcome {
            lseek(file.descriptor, 0, SEEK_SET)
        } else {
            close(file.descriptor)
        }
        return outcome
    }

    private func settled(_ state: State) -> Outcome {
        switch (state.verdict, state.head, state.result) {
        case (.redirect(let location, let freshUntil), _, _):
            .redirect(location, freshUntil: freshUntil)
        case (.failed(let failure), _, _): .failed(failure)
        case (_, _, .failure(let error)?): .failed(FetchFailure(error))
        case (.body, let head?, .success?): .body(file.descriptor, head)
        case (.notModified, let head?, .success?): .notModified(head)
        default: .failed(FetchFailure(.cancelled, "cancelled"))
        }
    }

    func transfer(_ id: TransferID, didReceive head: ResponseHead) -> Bool {
        let verdict = decide(head)
        state.withLock { ($0.head, $0.verdict) = (head, verdict) }
        switch verdict {
        case .body, .notModified: return true
        case .redirect, .failed: return false
        }
    }

    func transfer(
        _ id: TransferID, didReceive bytes: UnsafeRawBufferPointer
    ) -> ReceiveVerdict {
        let number = file.append(bytes)
        guard number != 0 else { return .proceed }
        let reason = String(cString: strerror(number))
        state.withLock {
            $0.verdict = .failed(FetchFailure(.storage, "cannot store it: \(reason)"))
        }
        return .stop
    }

    func transfer(_ id: TransferID, didEnd result: Result<TransferMetrics, TransferError>) {
        state.withLock { $0.result = result }
        ended.signal()
    }
}

/// What a server said of a manifest, beside its bytes.
struct ManifestResponse {
    /// What was asked for first.
    let url: HTTPURL
    /// Where redirects led.
    let target: RequestTarget
    let validators: Validators
    /// Which variant the request has selected.
    let variant: Digest?
    /// From the request to the end.
    let delay: Duration

    /// - Parameter known: whose fields it completes, if it said that nothing has changed.
    func deposit(_ content: Deposit.Content, on known: Resource? = nil) -> Deposit {
        Deposit(
            key: url.key, url: url.string, responseURL: target.url.string,
            validators: known.map { validators.completed(from: $0.validators) } ?? validators,
            variant: variant, redirectsFreshUntil: target.redirectsFreshUntil, receivedAt: Date(),
            delay: delay / .seconds(1), content: content)
    }
}
