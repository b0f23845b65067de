import Foundation
import LarderTransfer

/// A manifest at an http or https URL. It is downloaded whole, to a file without a name, before any of
/// it is read.
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
    /// A longer one is refused; counted after decoding. Default: 256 MiB.
    public var maximumBytes: Int64 = 256 << 20

    /// A manifest at `url`.
    public init(_ url: HTTPURL, transfer: TransferConfiguration = .init()) {
        self.url = url
        self.transfer = transfer
    }

    /// The bytes, and where redirects have led: what its relative URLs are resolved against.
    ///
    /// - Throws: ``ManifestError`` `.unreadable`, or `.tooLarge`.
    func download() throws(ManifestError) -> ByteInput {
        let start = ContinuousClock.now
        let loop: TransferLoop
        do throws(TransferError) {
            loop = try TransferLoop(configuration: transfer)
        } catch {
            throw ManifestError(.unreadable, source: "\(url)", error.message)
        }
        defer { loop.shutdown() }
        var attempt = 1
        while true {
            let failure: FetchFailure
            switch try fetch(with: loop) {
            case .success(let input): return input
            case .failure(let error): failure = error
            }
            if failure.code == TransferError.Code.tooLarge.rawValue {
                throw ManifestError(
                    .tooLarge, source: "\(url)",
                    failure.message + "; --max-manifest-size permits more")
            }
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
        with loop: TransferLoop
    ) throws(ManifestError) -> Result<ByteInput, FetchFailure> {
        let fields = RequestHeaders(
            rules: headers, accept: "application/json, application/x-plist, */*;q=0.8",
            userAgent: transfer.userAgent)
        var target = url
        var redirects = 0
        while true {
            let receiver = try ManifestReceiver(name: "\(url)")
            let isAtOwnOrigin = target.origin == url.origin
            let request = TransferRequest(
                url: target, headers: fields.sent(to: target, isRedirected: !isAtOwnOrigin),
                maximumBodyBytes: maximumBytes, usesStoredCredentials: isAtOwnOrigin)
            loop.start(request, receiver: receiver)
            switch receiver.wait() {
            case .body(let file):
                return .success(
                    ByteInput(descriptor: file, isOwned: true, name: "\(url)", baseURL: target))
            case .redirect(let location):
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
}
