import Logging
import Synchronization

/// A bucket of an S3-compatible server, which may have a private address. Icons are requested on
/// another loop, so that they cannot use the server's connections and avoid the check of addresses.
package final class S3Bucket: ObjectStore {
    private let loop: TransferLoop
    private let settings: S3Settings
    private let retry: RetryPolicy
    private let slots: RequestSlots
    private let logger: Logger?

    package init(
        _ settings: S3Settings, connections: Int = 16, retry: RetryPolicy = .ofRemote(),
        transfer: TransferConfiguration = TransferConfiguration()
    ) throws {
        var transfer = transfer
        transfer.addressPolicy = .allowAll
        (transfer.netrcFile, transfer.clientCertificate) = (nil, nil)
        if let file = settings.certificateAuthorities { transfer.certificateAuthorities = file }
        // The stall timeout ends transfers without progress.
        transfer.totalTimeout = .seconds(24 * 3600)
        transfer.maximumConnections = connections
        transfer.maximumConnectionsPerHost = connections
        loop = try TransferLoop(configuration: transfer)
        (self.settings, self.retry) = (settings, retry)
        slots = RequestSlots(connections)
        logger = transfer.logger
    }

    package func shutdown() { loop.shutdown() }

    private var location: S3Location { settings.location }

    package func subject(_ key: String?) -> String {
        key.map { "s3://\(location.bucket)/\(location.prefix)\($0)" } ?? "\(location)"
    }

    @discardableResult
    package func get(
        _ key: String, maximumBytes: Int64, into sink: @escaping SinkMaker
    ) async throws -> String? {
        let request = try settings.request(.get, for: key, maximumBytes: maximumBytes)
        return try await answer(to: request, about: key, maximumBytes: maximumBytes, into: sink)
            .headers[first: S3Settings.metadataField]
    }

    package func head(_ key: String) async throws -> ListedObject? {
        do {
            let head = try await answer(to: settings.request(.head, for: key), about: key)
            guard let size = head.headers[first: "Content-Length"].flatMap({ Int64($0) }),
                let modified = head.headers.date("Last-Modified")
            else { throw malformed(key, "the response has no Content-Length or Last-Modified") }
            return ListedObject(key: key, size: size, modified: modified)
        } catch let error as RemoteError where error.code == .notFound {
            return nil
        }
    }

    package func put(
        _ key: String, _ body: RequestBody, digest: String, mediaType: String?, metadata: String?
    ) async throws {
        let request = try settings.request(
            .put(body), for: key, digest: digest, mediaType: mediaType, metadata: metadata)
        _ = try await answer(to: request, about: key)
    }

    package func delete(_ key: String) async throws {
        do {
            _ = try await answer(to: settings.request(.delete, for: key), about: key)
        } catch let error as RemoteError where error.code == .notFound {}
    }

    package func list(_ prefix: String, after last: String?) async throws -> ListPage {
        let bytes = CollectedBytes()
        let request = try settings.listRequest(prefix, after: last)
        _ = try await answer(to: request, about: nil) { _ in bytes.sink() }
        let listing: ListAnswer
        do {
            listing = try ListAnswer(bytes.bytes)
        } catch is ResponseXML.ParseError {
            throw malformed(prefix, "the listing cannot be read")
        }
        // With unrequested names or a wrong order, callers would miss objects or never finish.
        var objects: [ListedObject] = []
        for var object in listing.objects {
            guard object.key.utf8.starts(with: (location.prefix + prefix).utf8) else {
                throw malformed(prefix, "the listing contains names that were not requested")
            }
            // Counts in bytes, because a slash and a combining mark form one character.
            object.key = String(
                decoding: object.key.utf8.dropFirst(location.prefix.utf8.count), as: UTF8.self)
            // rclone can list a name twice after a write and a removal.
            if let same = objects.last, same.key.utf8.elementsEqual(object.key.utf8) { continue }
            let previous = objects.last?.key ?? last
            guard previous?.utf8.lexicographicallyPrecedes(object.key.utf8) ?? true else {
                throw malformed(prefix, "the listing is not sorted by name")
            }
            objects.append(object)
        }
        guard !listing.isTruncated || !objects.isEmpty else {
            throw malformed(prefix, "the listing has an empty page before its last page")
        }
        return ListPage(objects: objects, next: listing.isTruncated ? objects.last?.key : nil)
    }

    private func malformed(_ key: String, _ message: String) -> RemoteError {
        RemoteError(.malformed, subject: subject(key), message)
    }

    private func answer(
        to request: TransferRequest, about key: String?, maximumBytes: Int64 = .max,
        into makeSink: @escaping SinkMaker = { _ in { _ in true } }
    ) async throws -> ResponseHead {
        try await retry.attempt {
            let errorBody = CollectedBytes()
            let exchange = Exchange(on: loop, maximumBytes: maximumBytes) { head, resume in
                head.isSuccess ? try makeSink(resume) : errorBody.sink()
            }
            do {
                let head = try await slots.run { try await exchange.response(to: request) }
                if head.isSuccess { return head }
                // A cancelled task does not read the XML, so the error would lack details.
                try Task.checkCancellation()
                throw RemoteError(head, body: errorBody.bytes, subject: subject(key))
            } catch let error as TransferError {
                // Only shutdown() cancels a transfer whose task is not cancelled.
                if error.code == .cancelled { throw CancellationError() }
                throw RemoteError(error, subject: subject(key), isAmazons: settings.endpoint == nil)
            }
        } onRetry: { (error: RemoteError, attempt: Int, delay: Duration) in
            logger?.info(
                "request to the remote failed, retrying",
                metadata: ["attempt": "\(attempt)", "delay": "\(delay)", "error": "\(error)"])
        }
    }
}

/// A limit on requests in flight. Without it, HTTP/2 would send all requests at once.
private final class RequestSlots: Sendable {
    private typealias State = (free: Int, waiting: [CheckedContinuation<Void, Never>])
    private let state: Mutex<State>

    init(_ count: Int) { state = Mutex((max(1, count), [])) }

    /// Waits for a slot even if the task is cancelled, because requests in flight end soon.
    func run(_ body: () async throws -> ResponseHead) async throws -> ResponseHead {
        await withCheckedContinuation { waiter in admit { $0.waiting.append(waiter) } }
        defer { admit { $0.free += 1 } }
        return try await body()
    }

    private func admit(after change: (inout State) -> Void) {
        let next = state.withLock { state -> CheckedContinuation<Void, Never>? in
            change(&state)
            guard state.free > 0, !state.waiting.isEmpty else { return nil }
            state.free -= 1
            return state.waiting.removeFirst()
        }
        next?.resume()
    }
}
