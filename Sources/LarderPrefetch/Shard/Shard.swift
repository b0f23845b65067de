import LarderCore
import LarderHTTP

/// One worker's share of the resources, of a fleet whose workers all read the same manifests.
///
/// Everything on a host is one worker's, so that nobody else asks that host and the limits per host
/// hold over the fleet. A host that has too many resources for one worker can be split.
/// All workers must have the same ``count`` and the same ``splits``.
public struct Shard: Sendable, Equatable {
    /// How many workers there can be.
    public static let allowedCounts = 1...Part.count

    /// Which worker this is; the first is 0.
    public let index: Int
    /// How many workers there are.
    public let count: Int
    /// The hosts that are divided among workers, each once.
    public let splits: [HostSplit]
    private let splitsByHost: [String: HostSplit]

    /// A worker's share; nil if a number is out of range, or `splits` names a host twice.
    ///
    /// - Parameters:
    ///   - index: The worker's number, below `count`. The first worker is 0.
    ///   - count: The number of workers, one of ``allowedCounts``.
    ///   - splits: The hosts that are divided among workers. Default: none.
    public init?(_ index: Int, of count: Int, splits: [HostSplit] = []) {
        guard Self.allowedCounts.contains(count), (0..<count).contains(index) else { return nil }
        self.index = index
        self.count = count
        self.splits = splits
        splitsByHost = Dictionary(splits.map { ($0.host, $0) }) { first, _ in first }
        if splitsByHost.count < splits.count { return nil }
    }

    /// Whether this worker reports entries without an icon: one does it for all.
    public var ownsProblems: Bool { index == 0 }

    /// Whether a part is this worker's.
    public func owns(_ part: Part) -> Bool { Int(part.number) % count == index }

    /// Whether a resource is this worker's, given its host as in `HTTPURL`; nil if it has none.
    public func owns(host: String?, key: String) -> Bool {
        guard let host else { return owns(Part(ofKey: key)) }
        guard let split = split(ofHost: host) else { return owns(Part(ofHost: host)) }
        return owns(split.part(ofPiece: split.piece(ofKey: key)))
    }

    /// This worker's share of a host's limits; nil if the host is not split.
    public func share(ofHost host: String) -> HostShare? {
        guard let split = split(ofHost: host) else { return nil }
        let pieces = (0..<split.pieces).count { owns(split.part(ofPiece: $0)) }
        return HostShare(pieces: max(1, pieces), total: split.pieces)
    }

    private func split(ofHost host: String) -> HostSplit? {
        splitsByHost.isEmpty ? nil : splitsByHost[host.withoutFinalDot]
    }
}

/// A worker's share of the limits of a split host: as much as it has of the host's pieces.
public struct HostShare: Hashable, Sendable {
    /// How many pieces the worker has; at least 1, since a redirect may lead any worker here.
    let pieces: Int
    let total: Int

    /// Requests at once. The shares of all workers add up to no more than `limit`, unless the host
    /// has more pieces than that: each piece may have one.
    public func requests(of limit: Int) -> Int { max(pieces, limit * pieces / total) }

    /// Requests a second.
    public func rate(of limit: Double) -> Double { limit * Double(pieces) / Double(total) }
}

/// A host whose resources are divided among several workers, because it has too many for one.
public struct HostSplit: Hashable, Sendable {
    /// Into how many pieces a host can be divided.
    public static let allowedPieces = 2...Part.count

    /// As `HTTPURL` has it, without a dot at its end.
    public let host: String
    /// The number of pieces.
    public let pieces: Int

    /// A split of a host; nil if it is not a host, or the number is not in ``allowedPieces``.
    public init?(host: String, pieces: Int) {
        guard let pattern = HostPattern(host), pattern.port == nil,
            Self.allowedPieces.contains(pieces)
        else { return nil }
        self.host = pattern.host
        self.pieces = pieces
    }

    /// Returns the part of a piece: the host's own, or one of those after it.
    func part(ofPiece piece: Int) -> Part {
        Part(number: Part(ofHost: host).number &+ UInt8(truncatingIfNeeded: piece))
    }

    /// Returns the piece of a resource, a range of digests: a sorted list is divided into runs.
    func piece(ofKey key: String) -> Int {
        let start = Digest(of: Array(key.utf8)).leadingBits >> 48
        return Int(start) * pieces / (1 << 16)
    }
}

/// One of 256 parts of all resources, by their host, which the workers of a fleet divide. A host's
/// part is its SHA-256 modulo 256, that is the digest's last byte, and never changes.
public struct Part: Hashable, Sendable {
    /// How many there are.
    public static let count = 256

    /// From 0 to 255.
    public let number: UInt8

    /// The part with a number.
    public init(number: UInt8) { self.number = number }

    /// The part of everything on a host, given in lower case and without a port.
    public init(ofHost host: String) { self.init(of: host.withoutFinalDot) }

    /// The part of a resource without a host, such as an icon that a manifest holds itself.
    public init(ofKey key: String) { self.init(of: key) }

    private init(of text: String) {
        number = Digest(of: Array(text.utf8)).bytes[Digest.byteCount - 1]
    }
}
