import Foundation
import LarderCache
import LarderTransfer

/// A manifest at an http or https URL. It is downloaded whole, to a file without a name, before any
/// of it is read; a run keeps it in its cache, so that one that has not changed costs a conditional
/// request. Its entries are held to the same rules as those of any other manifest.
public struct RemoteManifest: Sendable {
    /// Where it is.
    public var url: HTTPURL
    /// How connections are made: time-outs, certificates, refused addresses, User-Agent.
    public var transfer: TransferConfiguration
    /// Which failures are tried again, how often and when.
    public var retry = RetryPolicy()
    /// Header fields to be sent. Default: none but those that larder itself needs.
    public var headers: [HeaderRule] = []
    /// Whether redirects from https to http are followed. Default: false.
    public var allowsDowngrade = false
    /// A longer one is refused; counted after decoding, and of a gzip file unpacked. Default: 256
    /// MiB.
    public var maximumBytes: Int64 = 256 << 20

    /// A manifest at `url`.
    public init(_ url: HTTPURL, transfer: TransferConfiguration = .init()) {
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
    func download() throws -> ByteInput {
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
            case .success(let input): return input
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
        with loop: TransferLoop, _ kept: ManifestShelf.Kept?
    ) throws -> Result<ByteInput, FetchFailure> {
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
                let input = ByteInput(
                    descriptor: file, isOwned: true, name: "\(url)", baseURL: target.url)
                let response = response(head)
                if let shelf, policy.mayStore(response.validators) {
                    // What turns out not to be a manifest must not replace one, and credentials are
                    // not for the disk.
                    input.whenRead = { hasCredentials in
                        if !hasCredentials { try shelf.put(file, of: response) }
                    }
                }
                return .success(input)
            case .notModified(let head):
                guard let known else { return .failure(FetchFailure(status: 304)) }
                let response = response(head)
                do throws(FetchFailure) {
                    let content = try policy.confirmation(
                        of: known.resource, by: response.validators)
                    shelf?.note(content, of: known, by: response)
                    return .success(known.input)
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
