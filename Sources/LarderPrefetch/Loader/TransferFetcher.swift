import Foundation
import LarderCache
import LarderCore
import LarderHTTP
import LarderIcons
import Synchronization

/// A fetcher without retries. Its `IconLoader` records failures and limits concurrent fetches.
public final class TransferFetcher: IconFetcher {
    private let client: HTTPClient
    private let acceptsAnyContent: Bool
    private let cancelled = Mutex<Int64>(0)

    package var cancelledBytes: Int64 { cancelled.withLock { $0 } }

    /// Creates a fetcher with its own connections. `allowsDowngrade` permits redirects from https
    /// to http. `acceptsAnyContent` permits bodies that are not complete images. `maximumBodyBytes`
    /// is 16 MiB by default. Throws an error if `transfer` cannot be used.
    public init(
        _ transfer: TransferConfiguration = .init(), headers: [HeaderRule] = [],
        maximumBodyBytes: Int64 = 16 << 20, allowsDowngrade: Bool = false,
        acceptsAnyContent: Bool = false
    ) throws {
        let policy = RequestPolicy(
            headers: RequestHeaders(rules: headers, for: transfer),
            maximumBodyBytes: maximumBodyBytes, allowsDowngrade: allowsDowngrade)
        client = HTTPClient(
            loop: try TransferLoop(configuration: transfer), policy: policy, mayBeRepeated: true)
        self.acceptsAnyContent = acceptsAnyContent
    }

    deinit {
        // Runs in the background, because `shutdown()` blocks.
        DispatchQueue.global(qos: .utility).async { [client] in client.loop.shutdown() }
    }

    /// Fetches an icon in one attempt. Throws `IconFailure` or `CancellationError`.
    public func fetch(_ request: IconRequest) async throws -> FetchedIcon {
        let body = CollectedBytes()
        do {
            let url = try HTTPURL(request.url.absoluteString)
            let response = try await client.fetch(url) { body.sink() }
            let (headers, bytes, target) = (response.head.headers, body.bytes, response.target)
            let attributes = try bytes.withUnsafeBytes {
                try BodyCheck.attributes(
                    of: $0, acceptsAnyContent: acceptsAnyContent,
                    unknownCoding: headers.unknownContentCoding)
            }
            let names = [
                "ETag", "Last-Modified", "Date", "Age", "Cache-Control", "Expires", "Vary",
            ]
            return FetchedIcon(
                data: Data(bytes), mediaType: attributes.mediaType,
                headers: names.flatMap { name in
                    headers.all(name).map { (name: name, value: $0) }
                },
                responseURL: target.redirects > 0 ? target.url.string : nil)
        } catch let error as HTTPURL.ParseError {
            throw IconFailure(.fetch, url: request.url, "\(error)", underlying: error)
        } catch let failure as ResourceFailure {
            throw IconFailure(
                .fetch, url: request.url, failure.message, underlying: failure,
                retryAfter: failure.retryAfter.map { $0 / .seconds(1) })
        } catch let error as CancellationError {
            cancelled.withLock { $0 += Int64(body.bytes.count) }
            throw error
        }
    }
}
