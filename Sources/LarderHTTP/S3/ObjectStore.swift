import Foundation

/// A store of named objects, like S3. Listings are sorted by the bytes of names. A finished write
/// is visible to all later requests, including listings (S3 since December 2020, Ceph always).
package protocol ObjectStore: Sendable {
    /// Returns the name of the object, or of the bucket if `key` is nil, for messages.
    func subject(_ key: String?) -> String

    /// Returns the metadata, if any. Throws ``RemoteError``, the sink's error or
    /// `CancellationError`.
    @discardableResult
    func get(
        _ key: String, maximumBytes: Int64, into sink: @escaping SinkMaker
    ) async throws -> String?

    func head(_ key: String) async throws -> ListedObject?

    /// Writes or replaces an object. The store checks its SHA-256. `metadata` is short ASCII text.
    func put(
        _ key: String, _ body: RequestBody, digest: String, mediaType: String?, metadata: String?
    ) async throws

    func delete(_ key: String) async throws

    /// Returns a page of the objects whose names start with `prefix` and sort after `last`.
    func list(_ prefix: String, after last: String?) async throws -> ListPage
}

package typealias SinkMaker =
    @Sendable (_ resume: @escaping @Sendable () -> Void) throws -> ByteSink

extension ObjectStore {
    package func bytes(_ key: String, maximumBytes: Int64) async throws -> [UInt8] {
        let collected = CollectedBytes()
        try await get(key, maximumBytes: maximumBytes) { _ in collected.sink() }
        return collected.bytes
    }

    package func put(
        _ key: String, _ body: RequestBody, digest: String, mediaType: String?
    ) async throws {
        try await put(key, body, digest: digest, mediaType: mediaType, metadata: nil)
    }
}

/// A failed request to an object store.
public struct RemoteError: Error, RetriableFailure, Sendable, CustomStringConvertible {
    /// The reason. Reports contain the raw values.
    public enum Code: String, Sendable, CaseIterable {
        /// The credentials are unknown, expired or insufficient, or the clock is wrong.
        case accessRefused = "remote-access-refused"
        case noBucket = "remote-no-bucket"
        case wrongRegion = "remote-wrong-region"
        case notFound = "remote-not-found"
        /// The store or a quota is full.
        case full = "remote-full"
        /// The server is unreachable or overloaded. Another attempt may succeed.
        case unavailable = "remote-unavailable"
        /// The server refuses the request for another reason.
        case refused = "remote-refused"
        case malformed = "remote-malformed"
        /// The bytes of an object do not match its name.
        case corrupt = "remote-corrupt"
        /// The object exceeds the size limit, or a listing has too many names.
        case tooLarge = "remote-too-large"
    }

    /// The reason.
    public var code: Code
    /// The `s3://` URL of the object or the bucket.
    public var subject: String
    /// The reason in one line.
    public var message: String
    package var underlying: TransferError?
    /// The delay that the server requests, at most a minute.
    package var retryAfter: Duration?

    package init(_ code: Code, subject: String, _ message: String) {
        (self.code, self.subject, self.message) = (code, subject, message)
    }

    /// Whether the same request may succeed later.
    public var isTransient: Bool { code == .unavailable }

    package var isOverload: Bool { false }
    package var outOfTime: RemoteError { self }

    /// Whether all requests fail until the user solves the problem.
    public var isPermanent: Bool {
        [.accessRefused, .noBucket, .wrongRegion, .full].contains(code)
    }

    /// The subject and the message.
    public var description: String { "\(subject): \(message)" }
}

package struct ListPage: Sendable {
    /// The objects, sorted by name.
    package var objects: [ListedObject]
    /// The name after which the next page starts, or nil after the last page.
    package var next: String?
}

package struct ListedObject: Hashable, Sendable {
    package var key: String
    package var size: Int64
    /// The modification time by the store's clock.
    package var modified: Date
}
