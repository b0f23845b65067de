import Foundation
import LarderCore
import LarderHTTP
import LarderIcons
import LarderImages
import Synchronization

/// Fetches whole icons for an `IconLoader`, in one attempt: the loader remembers failures.
public final class TransferFetcher: IconFetcher {
    private static let freshnessFields = [
        "ETag", "Last-Modified", "Date", "Age", "Cache-Control", "Expires", "Vary",
    ]

    private let loop: TransferLoop
    private let policy: RequestPolicy
    private let allowsDowngrade: Bool
    private let acceptsAnyContent: Bool
    private let cancelled = Mutex<Int64>(0)

    package var cancelledBytes: Int64 { cancelled.withLock { $0 } }

    /// A fetcher with connections of its own.
    ///
    /// - Parameters:
    ///   - transfer: The settings of connections. Default: its defaults.
    ///   - headers: Further header fields of requests. Default: none.
    ///   - maximumBodyBytes: The maximum size of a body. Default: 16 MiB.
    ///   - allowsDowngrade: Whether redirects from https to http are followed. Default: false.
    ///   - acceptsAnyContent: Whether bodies that are not whole images are accepted. Default:
    ///     false.
    /// - Throws: `TransferError` if the configuration cannot be used.
    public init(
        _ transfer: TransferConfiguration = .init(), headers: [HeaderRule] = [],
        maximumBodyBytes: Int64 = 16 << 20, allowsDowngrade: Bool = false,
        acceptsAnyContent: Bool = false
    ) throws {
        loop = try TransferLoop(configuration: transfer)
        policy = RequestPolicy(
            headers: RequestHeaders(
                rules: headers, userAgent: transfer.userAgent,
                usesNetrc: transfer.netrcFile != nil),
            maximumBodyBytes: maximumBodyBytes, storesUnstorable: false)
        self.allowsDowngrade = allowsDowngrade
        self.acceptsAnyContent = acceptsAnyContent
    }

    deinit {
        // Not waited for: the last user may be the app's main thread.
        DispatchQueue.global(qos: .utility).async { [loop] in loop.shutdown() }
    }

    /// Fetches one icon, in one attempt.
    ///
    /// - Throws: `IconFailure`; `CancellationError`.
    public func fetch(_ request: IconRequest) async throws -> FetchedIcon {
        do {
            return try await follow(request)
        } catch let failure as ResourceFailure {
            throw IconFailure(
                .fetch, url: request.url, failure.message, underlying: failure,
                retryAfter: failure.retryAfter.map { $0 / .seconds(1) })
        }
    }

    private func follow(_ request: IconRequest) async throws -> FetchedIcon {
        let url: HTTPURL
        do throws(HTTPURL.ParseError) {
            url = try HTTPURL(request.url.absoluteString)
        } catch {
            throw IconFailure(.fetch, url: request.url, "\(error)", underlying: error)
        }
        var target = RequestTarget(url)
        while true {
            let (head, bytes) = try await receive(target)
            switch policy.verdict(on: head, to: target, about: nil) {
            case .redirect(let location, let freshUntil, let cookies):
                try target.follow(
                    location, freshUntil: freshUntil, cookies: cookies,
                    allowsDowngrade: allowsDowngrade)
            case .body:
                return FetchedIcon(
                    data: Data(bytes), mediaType: try mediaType(of: bytes, head),
                    headers: Self.freshnessFields.flatMap { name in
                        head.headers.all(name).map { (name: name, value: $0) }
                    },
                    responseURL: target.redirects > 0 ? target.url.string : nil)
            case .notModified, .restart: throw ResourceFailure(status: head.status)
            case .failed(let failure): throw failure
            }
        }
    }

    private func receive(
        _ target: RequestTarget
    ) async throws -> (ResponseHead, [UInt8]) {
        let body = CollectedBytes()
        let exchange = Exchange(on: loop) { [policy] head, _ in
            guard case .body = policy.verdict(on: head, to: target, about: nil) else { return nil }
            return body.sink()
        }
        do {
            var request = policy.request(to: target, about: nil)
            request.mayBeRepeated = true
            return (try await exchange.response(to: request), body.bytes)
        } catch let error as TransferError {
            throw ResourceFailure(error)
        } catch let error as CancellationError {
            cancelled.withLock { $0 += Int64(body.bytes.count) }
            throw error
        }
    }

    private func mediaType(of bytes: [UInt8], _ head: ResponseHead) throws -> String? {
        do {
            return try bytes.withUnsafeBytes { try ImageInspector.inspect($0) }.mediaType.rawValue
        } catch let fault as ImageError {
            if let coding = head.headers.unknownContentCoding, fault.code == .notAnImage {
                throw BodyCheck.failure(ofUnknownCoding: coding)
            }
            if acceptsAnyContent { return nil }
            throw ResourceFailure(fault, mayBeCut: false)
        }
    }
}
