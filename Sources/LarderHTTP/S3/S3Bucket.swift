import Logging

/// A bucket of an S3-compatible server, with a transfer loop of its own.
///
/// The user chose the server's address, which may be private. In a shared loop, the foreign URL of
/// an icon could use the bucket's connection.
package final class S3Bucket: ObjectStore {
    private let loop: TransferLoop
    private let settings: S3Settings
    private let attempts: S3Attempts
    private let logger: Logger?

    /// In bytes. A longer body of an error ends the transfer.
    private static let longestError = 64 << 10

    /// - Parameter transfer: Its address policy, connection limits, stored credentials and total
    ///   time-out are replaced.
    package init(
        _ settings: S3Settings, connections: Int = 16, attempts: S3Attempts = S3Attempts(),
        transfer: TransferConfiguration = TransferConfiguration()
    ) throws {
        var transfer = transfer
        transfer.addressPolicy = .allowAll
        transfer.netrcFile = nil
        transfer.clientCertificate = nil
        if let file = settings.certificateAuthorities { transfer.certificateAuthorities = file }
        // The stall time-out ends a transfer without progress.
        transfer.totalTimeout = .seconds(24 * 3600)
        transfer.maximumConnections = connections
        transfer.maximumConnectionsPerHost = connections
        loop = try TransferLoop(configuration: transfer)
        self.settings = settings
        self.attempts = attempts
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
        let head: ResponseHead
        do {
            head = try await answer(to: try settings.request(.head, for: key), about: key)
        } catch let error as RemoteError where error.code == .notFound {
            return nil
        }
        guard let size = head.headers[first: "Content-Length"].flatMap({ Int64($0) }),
            let modified = head.headers.date("Last-Modified")
        else {
            throw RemoteError(
                .malformed, subject: subject(key), "the server says neither size nor time of it")
        }
        return ListedObject(key: key, size: size, modified: modified)
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
            _ = try await answer(to: try settings.request(.delete, for: key), about: key)
        } catch let error as RemoteError where error.code == .notFound {}
    }

    package func list(_ prefix: String, after last: String?) async throws -> ListPage {
        let bytes = CollectedBytes()
        let request = try settings.listRequest(prefix, after: last)
        _ = try await answer(to: request, about: nil) { _ in bytes.sink() }
        let answer: ListAnswer
        do {
            answer = try ListAnswer(bytes.bytes)
        } catch is ResponseXML.Malformed {
            throw RemoteError(.malformed, subject: subject(prefix), "the listing cannot be read")
        }
        return try page(of: answer, prefix: prefix, after: last)
    }

    /// Checks a listing, which is foreign: with other names, or in another order, a caller would
    /// miss objects or never finish.
    private func page(
        of answer: ListAnswer, prefix: String, after last: String?
    ) throws -> ListPage {
        var objects: [ListedObject] = []
        for var object in answer.objects {
            guard object.key.utf8.starts(with: (location.prefix + prefix).utf8) else {
                throw RemoteError(
                    .malformed, subject: subject(prefix), "the listing has other names, too")
            }
            // By bytes, since a combining mark after the slash would be part of its Character.
            object.key = String(
                decoding: object.key.utf8.dropFirst(location.prefix.utf8.count), as: UTF8.self)
            // rclone can list a name twice, after it was written and removed at once.
            if let same = objects.last, same.key.utf8.elementsEqual(object.key.utf8) { continue }
            if let previous = objects.last?.key ?? last,
                !previous.utf8.lexicographicallyPrecedes(object.key.utf8)
            {
                throw RemoteError(
                    .malformed, subject: subject(prefix),
                    "the listing is not in the order of its names")
            }
            objects.append(object)
        }
        guard !answer.isTruncated || !objects.isEmpty else {
            throw RemoteError(
                .malformed, subject: subject(prefix), "the listing has a next page and none before")
        }
        return ListPage(objects: objects, next: answer.isTruncated ? objects.last?.key : nil)
    }

    private func answer(
        to request: TransferRequest, about key: String?, maximumBytes: Int64 = .max,
        into makeSink: @escaping SinkMaker = { _ in { _ in true } }
    ) async throws -> ResponseHead {
        var count = 0
        while true {
            count += 1
            do {
                return try await attempt(
                    request, about: key, maximumBytes: maximumBytes, into: makeSink)
            } catch let error as RemoteError where error.isTransient {
                guard let delay = attempts.delay(after: count) else { throw error }
                logger?.info(
                    "request to the remote failed, retrying",
                    metadata: ["attempt": "\(count)", "delay": "\(delay)", "error": "\(error)"])
                try await Task.sleep(for: delay)
            }
        }
    }

    private func attempt(
        _ request: TransferRequest, about key: String?, maximumBytes: Int64,
        into makeSink: @escaping SinkMaker
    ) async throws -> ResponseHead {
        let errorBody = CollectedBytes(limit: Self.longestError)
        let exchange = Exchange(on: loop, maximumBytes: maximumBytes) { head, resume in
            head.isSuccess ? try makeSink(resume) : errorBody.sink()
        }
        let head: ResponseHead
        do {
            head = try await exchange.response(to: request)
        } catch let error where !(error is CancellationError) {
            // The status of an error says more than how its body ended.
            guard let failed = exchange.head, failed.status >= 300 else {
                guard let error = error as? TransferError else { throw error }
                // Only shutdown() cancels a transfer whose task is not cancelled.
                if error.code == .cancelled { throw CancellationError() }
                throw RemoteError(error, subject: subject(key), isAmazons: settings.endpoint == nil)
            }
            head = failed
        }
        if head.isSuccess { return head }
        // Reading the XML stops if the task is cancelled, and the error would say less.
        try Task.checkCancellation()
        throw RemoteError(head, body: errorBody.bytes, subject: subject(key))
    }
}

package struct S3Attempts: Sendable {
    /// Maximum number of requests. Default: 5.
    package var limit: Int
    /// Doubled after each attempt, minus a random part of up to a half. Default: 0.2 s.
    package var delay: Duration
    /// Default: 5 s.
    package var longestDelay: Duration

    /// The defaults are about those of Amazon's own libraries.
    package init(
        limit: Int = 5, delay: Duration = .milliseconds(200), longestDelay: Duration = .seconds(5)
    ) {
        self.limit = limit
        self.delay = delay
        self.longestDelay = longestDelay
    }

    /// Returns nil after the last attempt.
    func delay(after attempts: Int) -> Duration? {
        guard attempts < limit else { return nil }
        let most = min(delay * (1 << min(attempts - 1, 16)), longestDelay)
        return most * Double.random(in: 0.5...1)
    }
}
