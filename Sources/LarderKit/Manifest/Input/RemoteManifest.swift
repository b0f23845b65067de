import Foundation
import LarderCache
import LarderTransfer

/// A manifest at an http or https URL. It is downloaded whole, to a file without a name, before any of
/// it is read; a run keeps it in its cache, so that one that has not changed costs a conditional request.
///
/// Its entries are held to the same rules as anybody's: no scheme but http and https, no private
/// address unless the run allows it.
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
    /// A longer one is refused; counted after decoding, and of a gzip file unpacked. Default: 256 MiB.
    public var maximumBytes: Int64 = 256 << 20

    /// A manifest at `url`.
    public init(_ url: HTTPURL, transfer: TransferConfiguration = .init()) {
        self.url = url
        self.transfer = transfer
    }

    /// Where it is kept between runs. Default: nil, nowhere.
    var shelf: ManifestShelf?

    /// The bytes, and where redirects have led: what its relative URLs are resolved against.
    ///
    /// What is kept is asked about with each download, fresh or not: whoever names a URL means what is there
    /// now.
    ///
    /// - Throws: ``ManifestError`` `.unreadable`, `.tooLarge`, or `.missing` where only the shelf is asked;
    ///   `CacheError`.
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
            if failure.code == TransferError.Code.tooLarge.rawValue {
                throw ManifestError(
                    .tooLarge, source: "\(url)",
                    failure.message + "; --max-manifest-size permits more")
            }
            if failure.asksUnconditionally { kept = nil }
            let delay = max(
                retry.delay(afterFailures: attempt, isOverload: failure.isOverload),
                failure.retryAfter ?? .zero)
            guard failure.isTransient, attempt < retry.attempts,
                ContinuousClock.now - start + delay <= retry.maximumTime
            else {
                throw ManifestError(.unreadable, source: "\(url)", failure.message)
            }
            Thread.sleep(forTimeInterval: delay / .seconds(1))
            attempt += 1
        }
    }

    /// One attempt, redirects followed.
    private func fetch(
        with loop: TransferLoop, _ kept: ManifestShelf.Kept?
    ) throws -> Result<ByteInput, FetchFailure> {
        var target = url
        var redirects = 0
        var redirectsFreshUntil: Date?
        while true {
            let start = ContinuousClock.now
            // Another URL's 304 would not vouch for it.
            let known = kept?.resource.responseURL == target.string ? kept : nil
            let conditions = conditions(on: known?.resource, at: target)
            let receiver = try ManifestReceiver(
                name: "\(url)", isConditional: !conditions.isEmpty)
            loop.start(request(target, conditions), receiver: receiver)
            let outcome = receiver.wait()
            func response(_ head: ResponseHead) -> ManifestResponse {
                let validators = Validators(head.headers.all)
                return ManifestResponse(
                    url: url, target: target, validators: validators,
                    variant: variant(validators, at: target),
                    redirectsFreshUntil: redirectsFreshUntil, delay: ContinuousClock.now - start)
            }
            switch outcome {
            case .body(let file, let head):
                let input = ByteInput(
                    descriptor: file, isOwned: true, name: "\(url)", baseURL: target)
                if let shelf {
                    let response = response(head)
                    // What turns out to be no manifest is not to replace one, and credentials are not for the disk.
                    input.whenRead = { hasCredentials in
                        if !hasCredentials { try shelf.put(file, of: response) }
                    }
                }
                return .success(input)
            case .notModified(let head):
                let response = response(head)
                guard let known, response.validators.vouch(for: known.resource.validators) else {
                    return .failure(
                        FetchFailure(
                            .validator,
                            "the server says that another version than the cached has not changed"))
                }
                shelf?.confirm(known, by: response)
                return .success(known.input)
            case .redirect(let location, let head):
                let freshUntil = Freshness.expiry(ofRedirect: head)
                redirectsFreshUntil = min(freshUntil, redirectsFreshUntil ?? freshUntil)
                switch Redirect.target(
                    of: location, from: target, after: redirects, allowsDowngrade: allowsDowngrade
                ) {
                case .success(let next): (target, redirects) = (next, redirects + 1)
                case .failure(let failure): return .failure(failure)
                }
            case .failed(let failure): return .failure(failure)
            }
        }
    }

    private var fields: RequestHeaders {
        RequestHeaders(
            rules: headers, accept: "application/json, application/x-plist, */*;q=0.8",
            userAgent: transfer.userAgent, usesNetrc: transfer.netrcFile != nil)
    }

    private func request(
        _ target: HTTPURL, _ conditions: [(name: String, value: String)]
    ) -> TransferRequest {
        let isAtOwnOrigin = target.origin == url.origin
        return TransferRequest(
            url: target,
            headers: fields.sent(to: target, isRedirected: !isAtOwnOrigin) + conditions,
            maximumBodyBytes: maximumBytes, usesStoredCredentials: isAtOwnOrigin)
    }

    /// What makes a request conditional; none where every answer is news.
    private func conditions(
        on known: Resource?, at target: HTTPURL
    ) -> [(name: String, value: String)] {
        guard let known else { return [] }
        let isAny = known.validators.vary.map { Vary($0).isAny } ?? false
        return known.validators.conditions(
            sameVariant: !isAny && variant(known.validators, at: target) == known.variant)
    }

    private func variant(_ validators: Validators, at target: HTTPURL) -> Digest? {
        validators.vary.flatMap {
            Vary($0).variant(
                for: fields.selecting(
                    for: target, isRedirected: target.origin != url.origin,
                    hasCredentials: target.credentials != nil))
        }
    }
}
