import LarderTransfer

import struct Crypto.SHA256

/// A host whose resources are divided among several workers, because it has too many for one.
public struct HostSplit: Hashable, Sendable {
    /// Into how many pieces a host can be divided.
    public static let allowedPieces = 2...Part.count

    /// As `HTTPURL` has it, without a dot at its end.
    public let host: String
    /// Into how many pieces it is divided.
    public let pieces: Int

    /// - Parameters:
    ///   - host: a host in any spelling, without a scheme, a port or a path.
    ///   - pieces: one of ``allowedPieces``.
    /// - Returns: nil if the host is not one, or the number is another.
    public init?(host: String, pieces: Int) {
        guard let pattern = HostPattern(host), pattern.port == nil,
            Self.allowedPieces.contains(pieces)
        else { return nil }
        self.host = pattern.host
        self.pieces = pieces
    }

    /// The part that a piece counts as: the host's own, and those that follow it.
    func part(ofPiece piece: Int) -> Part {
        Part(number: Part(ofHost: host).number &+ UInt8(truncatingIfNeeded: piece))
    }

    /// The piece that a resource is in. Each is one range of digests, so that a sorted list of them
    /// is divided into as many runs.
    ///
    /// - Parameter key: what the resource is looked up by.
    func piece(ofKey key: String) -> Int {
        let start = SHA256.hash(data: Array(key.utf8)).withUnsafeBytes { digest in
            Int(digest[0]) << 8 | Int(digest[1])
        }
        return start * pieces / (1 << 16)
    }
}
