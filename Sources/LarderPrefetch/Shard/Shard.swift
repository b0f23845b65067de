import LarderCore
import LarderHTTP

/// One worker's share of the resources, if several workers read the same manifests. One worker owns
/// all resources of a host, so that host limits apply to all workers together. Hosts with too many
/// resources can be split. All workers must have the same ``count`` and ``splits``.
public struct Shard: Sendable, Equatable {
    /// The allowed numbers of workers.
    public static let allowedCounts = 1...Part.count

    /// The number of this worker, from 0.
    public let index: Int
    /// The number of workers.
    public let count: Int
    /// The hosts divided among workers.
    public let splits: [HostSplit]
    private let splitsByHost: [String: HostSplit]

    /// Creates a worker's share. Returns nil if a number is out of range, or a host is split twice.
    public init?(_ index: Int, of count: Int, splits: [HostSplit] = []) {
        guard Self.allowedCounts.contains(count), (0..<count).contains(index) else { return nil }
        (self.index, self.count, self.splits) = (index, count, splits)
        splitsByHost = Dictionary(splits.map { ($0.host, $0) }) { first, _ in first }
        if splitsByHost.count < splits.count { return nil }
    }

    /// Whether this worker reports entries without a usable icon. Only the first worker does.
    public var ownsProblems: Bool { index == 0 }

    /// Whether this worker owns a part.
    public func owns(_ part: Part) -> Bool { Int(part.number) % count == index }

    /// Whether this worker owns a resource. `host` is as in `HTTPURL`, or nil without a URL.
    public func owns(host: String?, key: String) -> Bool {
        guard let host else { return owns(Part(ofKey: key)) }
        guard let split = split(ofHost: host) else { return owns(Part(ofHost: host)) }
        return owns(split.part(ofPiece: split.piece(ofKey: key)))
    }

    func share(ofHost host: String) -> HostShare? {
        guard let split = split(ofHost: host) else { return nil }
        let pieces = (0..<split.pieces).count { owns(split.part(ofPiece: $0)) }
        return HostShare(pieces: max(1, pieces), total: split.pieces)
    }

    private func split(ofHost host: String) -> HostSplit? {
        splitsByHost.isEmpty ? nil : splitsByHost[host.withoutFinalDot]
    }
}

/// A worker's share of a split host's limits, in proportion to its pieces.
struct HostShare {
    /// At least 1, because redirects can lead to hosts of other workers.
    let pieces: Int
    let total: Int

    /// Returns at least one request for each piece. The total of all workers can exceed `limit`.
    func requests(of limit: Int) -> Int { max(pieces, limit * pieces / total) }
    func rate(of limit: Double) -> Double { limit * Double(pieces) / Double(total) }
}

/// A host divided among several workers.
public struct HostSplit: Hashable, Sendable {
    /// The allowed numbers of pieces.
    public static let allowedPieces = 2...Part.count

    /// The host as in `HTTPURL`, without a final dot.
    public let host: String
    /// The number of pieces.
    public let pieces: Int

    /// Creates a split. Returns nil if `host` is invalid or `pieces` is not in ``allowedPieces``.
    public init?(host: String, pieces: Int) {
        guard let pattern = HostPattern(host), pattern.port == nil,
            Self.allowedPieces.contains(pieces)
        else { return nil }
        (self.host, self.pieces) = (pattern.host, pieces)
    }

    /// Returns the part of a piece. Pieces take consecutive parts, starting at the host's part.
    func part(ofPiece piece: Int) -> Part {
        Part(number: Part(ofHost: host).number &+ UInt8(truncatingIfNeeded: piece))
    }

    /// Returns the piece that a key belongs to. Each piece is a range of key digests.
    func piece(ofKey key: String) -> Int {
        Int(Digest(of: Array(key.utf8)).leadingBits >> 48) * pieces / (1 << 16)
    }
}

/// One of 256 parts into which all hosts are divided. A host's part is the last byte of the SHA-256
/// digest of its name, and never changes.
public struct Part: Hashable, Sendable {
    /// The number of parts.
    public static let count = 256

    /// The number of the part, from 0 to 255.
    public let number: UInt8

    /// Creates the part with the given number.
    public init(number: UInt8) { self.number = number }

    /// Creates the part of a host, given in lower case and without a port.
    public init(ofHost host: String) { self.init(ofKey: host.withoutFinalDot) }

    /// Creates the part of a resource without a host, for example an inline icon.
    public init(ofKey key: String) {
        number = Digest(of: Array(key.utf8)).bytes[Digest.byteCount - 1]
    }
}
