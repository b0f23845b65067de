import Foundation
import LarderCache
import LarderCore
import LarderHTTP
import LarderManifest

/// A manifest at an http or https URL. It is downloaded to an unnamed file before it is read. A run
/// keeps a copy in its cache, so that an unchanged manifest costs a conditional request.
package struct RemoteManifest: Sendable {
    package var url: HTTPURL
    package var transfer: TransferConfiguration
    package var retry = RetryPolicy()
    package var headers: [HeaderRule] = []
    package var allowsDowngrade = false
    /// The maximum size, decoded and unpacked. Default: 256 MiB.
    package var maximumBytes: Int64 = 256 << 20

    package init(_ url: HTTPURL, transfer: TransferConfiguration = .init()) {
        self.url = url
        self.transfer = transfer
    }

    var copies: ManifestCopies?
    /// Called a few times a second. If it returns true, the download ends. Default: never.
    var isCancelled: @Sendable () -> Bool = { false }

    /// Downloads the manifest. The result names the URL that redirects led to, for relative URLs. A
    /// copy is always revalidated: a user who names a URL wants its current content.
    ///
    /// - Throws: ``ManifestError`` `.unreadable`, `.tooLarge`, or `.missing` if only the copies are
    ///   read; `CacheError`, `CancellationError`.
    package func download() throws -> OpenedManifest {
        if let copies, copies.store == nil { return try copies.take(url) }
        let start = ContinuousClock.now
        let loop: TransferLoop
        do throws(TransferError) {
            loop = try TransferLoop(configuration: transfer)
        } catch {
            throw ManifestError(.unreadable, source: "\(url)", error.message)
        }
        defer { loop.shutdown() }
        var kept = try copies?.kept(url)
        var attempt = 1
        while true {
            let failure: ResourceFailure
            do {
                return try fetch(with: loop, kept)
            } catch let error as ResourceFailure {
                failure = error
            } catch let error as TransferError {
                failure = ResourceFailure(error)
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
            case .success(let instant):
                transfer.logger?.info(
                    "retrying a manifest",
                    metadata: ["url": url.logged, "code": "\(failure.code)"])
                try wait(until: instant)
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

    /// Makes one attempt, and follows redirects.
    private func fetch(
        with loop: TransferLoop, _ kept: Cache.KeptManifest?
    ) throws -> OpenedManifest {
        let policy = policy
        var target = RequestTarget(url)
        while true {
            let start = ContinuousClock.now
            // Another URL's 304 would not vouch for it.
            let known = kept?.resource.responseURL == target.url.string ? kept : nil
            let (head, file) = try receive(target, known?.resource, on: loop)
            var isBody = false
            defer { if !isBody { close(file.descriptor) } }
            let validators = Validators(head.headers.all)
            let response = ManifestResponse(
                url: url, target: target, validators: validators,
                variant: policy.variant(validators, at: target), delay: ContinuousClock.now - start)
            switch policy.verdict(on: head, to: target, about: known?.resource) {
            case .body:
                isBody = true
                lseek(file.descriptor, 0, SEEK_SET)
                var opened = OpenedManifest(descriptor: file.descriptor, baseURL: target.url)
                if let copies, policy.mayStore(validators) {
                    // What turns out not to be a manifest must not replace one, and credentials are
                    // not for the disk.
                    opened.whenRead = { hasCredentials in
                        if !hasCredentials { try copies.put(file.descriptor, of: response) }
                    }
                }
                return opened
            case .notModified:
                guard let known else { throw ResourceFailure(status: 304) }
                let content = try policy.confirmation(of: known.resource, by: validators)
                copies?.note(content, of: known, by: response)
                return OpenedManifest(
                    descriptor: known.file.descriptor, baseURL: known.file.baseURL)
            case .redirect(let location, let freshUntil, let cookies):
                try target.follow(
                    location, freshUntil: freshUntil, cookies: cookies,
                    allowsDowngrade: allowsDowngrade)
            case .failed(let failure): throw failure
            case .restart: throw ResourceFailure(status: head.status)
            }
        }
    }

    /// Receives a response, and its body in a file if that is wanted. The caller closes the file.
    private func receive(
        _ target: RequestTarget, _ known: Resource?, on loop: TransferLoop
    ) throws -> (ResponseHead, UnnamedFile) {
        let policy = policy
        let file = try UnnamedFile(for: "\(url)")
        let exchange = Exchange(on: loop) { head, _ in
            guard case .body = policy.verdict(on: head, to: target, about: known) else {
                return nil
            }
            return { bytes in
                let number = file.append(bytes)
                guard number == 0 else {
                    let reason = String(cString: strerror(number))
                    throw ResourceFailure(.storage, "cannot store it: \(reason)")
                }
                return true
            }
        }
        let request = policy.request(to: target, about: known)
        do {
            return (try exchange.waitForResponse(to: request, unless: isCancelled), file)
        } catch {
            close(file.descriptor)
            throw error
        }
    }

    private var policy: RequestPolicy {
        RequestPolicy(
            headers: RequestHeaders(
                rules: headers, accept: "application/json, application/x-plist, */*;q=0.8",
                userAgent: transfer.userAgent, usesNetrc: transfer.netrcFile != nil),
            maximumBodyBytes: maximumBytes, storesUnstorable: copies?.storesUnstorable ?? false)
    }
}

struct ManifestResponse {
    let url: HTTPURL
    let target: RequestTarget
    let validators: Validators
    let variant: Digest?
    let delay: Duration

    /// - Parameter known: The resource whose fields it completes after a 304.
    func deposit(_ content: Deposit.Content, on known: Resource? = nil) -> Deposit {
        Deposit(
            key: url.key, url: url.string, responseURL: target.url.string,
            validators: known.map { validators.completed(from: $0.validators) } ?? validators,
            variant: variant, redirectsFreshUntil: target.redirectsFreshUntil, receivedAt: Date(),
            delay: delay / .seconds(1), content: content)
    }
}
