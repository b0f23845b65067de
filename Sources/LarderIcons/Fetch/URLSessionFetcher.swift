// Not yet compiled on Apple's platforms.
// Not for Linux, where FoundationNetworking depends on libcurl.
#if canImport(Darwin)
    import Foundation
    import ImageIO
    import LarderCache
    import LarderCore
    import UniformTypeIdentifiers

    /// A fetcher that uses `URLSession`.
    public final class URLSessionFetcher: IconFetcher {
        private let session: URLSession
        private let isOwnSession: Bool
        private let maximumBytes: Int

        /// Creates a fetcher that rejects bodies larger than `maximumBytes`. Default: 16 MiB. The
        /// default session has no cache, because Larder caches icons.
        public init(session: URLSession? = nil, maximumBytes: Int = 16 << 20) {
            let configuration = URLSessionConfiguration.ephemeral
            configuration.urlCache = nil
            configuration.timeoutIntervalForRequest = 30
            configuration.timeoutIntervalForResource = 300
            self.session = session ?? URLSession(configuration: configuration)
            isOwnSession = session == nil
            self.maximumBytes = maximumBytes
        }

        deinit { if isOwnSession { session.finishTasksAndInvalidate() } }

        /// Fetches one icon, without retries. Throws ``IconFailure`` unless the response is a
        /// complete image with status 200 or 203.
        public func fetch(_ request: IconRequest) async throws -> FetchedIcon {
            let (bytes, response) = try await session.bytes(
                for: URLRequest(url: request.url), delegate: PriorityKeeper(request))
            func failure(_ message: String, retryAfter delay: Duration? = nil) -> IconFailure {
                bytes.task.cancel()
                return IconFailure(
                    .fetch, url: request.url, message,
                    retryAfter: delay.map { $0 / .seconds(1) })
            }
            guard let response = response as? HTTPURLResponse else {
                throw failure("the response is not HTTP")
            }
            guard [200, 203].contains(response.statusCode) else {
                let delay = RetryAfter.delay(
                    response.value(forHTTPHeaderField: "Retry-After"),
                    date: response.value(forHTTPHeaderField: "Date"),
                    age: response.value(forHTTPHeaderField: "Age"))
                throw failure(
                    "the server answered with status \(response.statusCode)", retryAfter: delay)
            }
            let length = response.expectedContentLength
            let tooLong = "the body is longer than \(maximumBytes) bytes"
            guard length <= Int64(maximumBytes) else { throw failure(tooLong) }
            var data = Data()
            data.reserveCapacity(max(0, Int(length)))
            for try await byte in bytes {
                guard data.count < maximumBytes else { throw failure(tooLong) }
                data.append(byte)
            }
            guard length < 0 || !data.isEmpty && data.count >= length else {
                throw failure("the body is incomplete")
            }
            // Some servers send error pages with status 200.
            guard let image = CGImageSourceCreateWithData(data as CFData, nil),
                CGImageSourceGetStatus(image) == .statusComplete,
                let type = CGImageSourceGetType(image)
            else { throw failure("the body is not a complete image") }
            let headers = response.allHeaderFields as? [String: String] ?? [:]
            let url = response.url?.absoluteString
            return FetchedIcon(
                data: data, mediaType: UTType(type as String)?.preferredMIMEType,
                headers: headers.map { (name: $0.key, value: $0.value) },
                responseURL: url == request.url.absoluteString ? nil : url)
        }

        private final class PriorityKeeper: NSObject, URLSessionTaskDelegate {
            private let request: IconRequest

            init(_ request: IconRequest) { self.request = request }

            func urlSession(_ session: URLSession, didCreateTask task: URLSessionTask) {
                request.onPriorityChange { [weak task] in
                    task?.priority = URLSessionFetcher.priority($0)
                }
                task.priority = URLSessionFetcher.priority(request.priority)
            }
        }

        private static func priority(_ priority: IconPriority) -> Float {
            switch priority {
            case .veryLow: 0.1
            case .low: URLSessionTask.lowPriority
            case .normal: URLSessionTask.defaultPriority
            case .high: URLSessionTask.highPriority
            case .veryHigh: 1
            }
        }
    }
#endif
