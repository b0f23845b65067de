import LarderTransfer

/// Why an object store did not do what it was asked.
public struct StorageError: Error, Sendable, CustomStringConvertible {
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
    /// What the transfer failed of, if that was it.
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
