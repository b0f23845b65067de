/// One worker's share of the resources, of a fleet whose workers all read the same manifests.
///
/// Everything on a host is one worker's, so that nobody else asks that host and the limits per host
/// hold over the fleet. A host that has too many resources for one worker can be split.
///
/// All workers of a fleet must have the same ``count`` and the same ``splits``.
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

    /// - Parameters:
    ///   - index: below `count`; the first worker is 0.
    ///   - count: one of ``allowedCounts``.
    ///   - splits: the hosts that are divided. Default: none.
    /// - Returns: nil if a number is out of range, or `splits` names a host twice.
    public init?(_ index: Int, of count: Int, splits: [HostSplit] = []) {
        guard Self.allowedCounts.contains(count), (0..<count).contains(index) else { return nil }
        self.index = index
        self.count = count
        self.splits = splits
        splitsByHost = Dictionary(splits.map { ($0.host, $0) }) { first, _ in first }
        if splitsByHost.count < splits.count { return nil }
    }

    /// Whether what has no resource is this worker's, such as an entry without an icon: one worker
    /// reports it for all.
    public var ownsProblems: Bool { index == 0 }

    /// Whether a part is this worker's.
    public func owns(_ part: Part) -> Bool { Int(part.number) % count == index }

    /// Whether a resource is this worker's. Of all workers, exactly one has it.
    ///
    /// - Parameters:
    ///   - host: as `HTTPURL` has it; nil if it has none.
    ///   - key: what the resource is looked up by.
    public func owns(host: String?, key: String) -> Bool {
        guard let host else { return owns(Part(ofKey: key)) }
        guard let split = split(ofHost: host) else { return owns(Part(ofHost: host)) }
        return owns(split.part(ofPiece: split.piece(ofKey: key)))
    }

    /// How much this worker may ask of a host; nil for all that the limits allow, if the host is
    /// not split.
    public func share(ofHost host: String) -> HostShare? {
        guard let split = split(ofHost: host) else { return nil }
        let pieces = (0..<split.pieces).count { owns(split.part(ofPiece: $0)) }
        return HostShare(pieces: max(1, pieces), total: split.pieces)
    }

    private func split(ofHost host: String) -> HostSplit? {
        splitsByHost.isEmpty ? nil : splitsByHost[host.withoutFinalDot]
    }
}
