import LarderCache

import struct Crypto.SHA256

/// One of 256 parts of all resources, by their host: what the workers of a fleet divide among them.
///
/// A host's part is its SHA-256 modulo 256, that is the digest's last byte, and never changes.
public struct Part: Hashable, Sendable {
    /// How many there are.
    public static let count = 256

    /// From 0 to 255.
    public let number: UInt8

    /// The part with a number.
    public init(number: UInt8) { self.number = number }

    /// The part of everything on a host.
    ///
    /// - Parameter host: as `HTTPURL` has it: in lower case, without a port. A dot at its end does
    ///   not count.
    public init(ofHost host: String) { self.init(of: host.withoutFinalDot) }

    /// The part of a resource without a host, such as an icon that a manifest holds itself.
    ///
    /// - Parameter key: what the resource is looked up by.
    public init(ofKey key: String) { self.init(of: key) }

    private init(of text: String) {
        number = SHA256.hash(data: Array(text.utf8)).withUnsafeBytes { $0[Digest.byteCount - 1] }
    }
}
