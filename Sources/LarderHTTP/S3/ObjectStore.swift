import Foundation

/// A store of objects by name, as in S3.
///
/// Listings are sorted by bytes. A finished write is visible to every later request, including
/// listings (S3 since December 2020, Ceph always).
package protocol ObjectStore: Sendable {
    /// Returns the name of an object, or of the store, for messages.
    func subject(_ key: String?) -> String

    /// Receives an object.
    ///
    /// - Parameter sink: Makes the sink of each attempt's body.
    /// - Throws: ``RemoteError``, ``RemoteError/Code-swift.enum/notFound`` if there is none; the
    ///   sink's error; `CancellationError`.
    func get(_ key: String, maximumBytes: Int64, into sink: @escaping SinkMaker) async throws

    /// Returns the size and time of an object, or nil if there is none.
    func head(_ key: String) async throws -> ListedObject?

    /// Writes an object, and replaces one of that name.
    ///
    /// - Parameters:
    ///   - digest: The SHA-256 of the bytes, in hexadecimal. The store refuses other bytes.
    ///   - mediaType: For readers other than Larder.
    func put(
        _ key: String, _ body: RequestBody, digest: String, mediaType: String?
    ) async throws

    /// Removes an object; no error if there is none.
    func delete(_ key: String) async throws

    /// Returns a page of the objects whose names begin with `prefix`, sorted.
    ///
    /// - Parameter last: The name before the page; nil for the first page.
    func list(_ prefix: String, after last: String?) async throws -> ListPage
}

/// Makes the sink of an attempt's body.
package typealias SinkMaker =
    @Sendable (_ resume: @escaping @Sendable () -> Void) throws -> ByteSink

extension ObjectStore {
    /// Receives a small object into memory.
    package func bytes(_ key: String, maximumBytes: Int64) async throws -> [UInt8] {
        let collected = CollectedBytes()
        try await get(key, maximumBytes: maximumBytes) { _ in collected.sink() }
        return collected.bytes
    }
}

/// Why an object store did not do what it was asked.
public struct RemoteError: Error, Sendable, CustomStringConvertible {
    /// The reasons. Their raw values are part of the output.
    public enum Code: String, Sendable, CaseIterable {
        /// The credentials are unknown, expired, or not allowed to do this; or the clock is wrong.
        case accessRefused = "remote-access-refused"
        /// There is no such bucket.
        case noBucket = "remote-no-bucket"
        /// The bucket is in another region.
        case wrongRegion = "remote-wrong-region"
        /// There is no such object.
        case notFound = "remote-not-found"
        /// There is no room, or a quota is used up.
        case full = "remote-full"
        /// It cannot be reached, or has too much to do: another attempt may succeed.
        case unavailable = "remote-unavailable"
        /// It refuses the request for another reason.
        case refused = "remote-refused"
        /// What it answered makes no sense.
        case malformed = "remote-malformed"
        /// The bytes of an object are not those that its name says.
        case corrupt = "remote-corrupt"
        /// The object is larger than allowed, or a listing names too many.
        case tooLarge = "remote-too-large"
    }

    /// The reason.
    public var code: Code
    /// The object, or the bucket: an `s3://` URL.
    public var subject: String
    /// The reason in words, in one line.
    public var message: String
    /// The error of the transfer, if it failed.
    package var underlying: TransferError?

    /// An error.
    package init(
        _ code: Code, subject: String, _ message: String, underlying: TransferError? = nil
    ) {
        self.code = code
        self.subject = subject
        self.message = message
        self.underlying = underlying
    }

    /// Whether the same request may succeed later.
    public var isTransient: Bool { code == .unavailable }

    /// Whether no request at all can succeed until a person does something.
    public var isPermanent: Bool {
        [.accessRefused, .noBucket, .wrongRegion, .full].contains(code)
    }

    /// Subject and message.
    public var description: String { "\(subject): \(message)" }
}

/// A page of a listing.
package struct ListPage: Sendable {
    /// Sorted by name. May be empty before the end.
    package var objects: [ListedObject]
    /// The name before the next page; nil at the end.
    package var next: String?

    /// A page.
    package init(objects: [ListedObject], next: String?) {
        self.objects = objects
        self.next = next
    }
}

/// An object of a listing.
package struct ListedObject: Hashable, Sendable {
    /// Its name, without the prefix of the whole store.
    package var key: String
    /// How many bytes it has.
    package var size: Int64
    /// When it was written, by the store's clock.
    package var modified: Date

    /// An object.
    package init(key: String, size: Int64, modified: Date) {
        self.key = key
        self.size = size
        self.modified = modified
    }
}
