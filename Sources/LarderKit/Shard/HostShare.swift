/// How much one worker may ask of a host that several workers share: as much as it has of the
/// host's pieces, so that all of them together keep the limits.
public struct HostShare: Hashable, Sendable {
    /// How many pieces the worker has; at least 1, since a redirect may lead any worker here.
    let pieces: Int
    /// How many there are.
    let total: Int

    /// Requests at once. The shares of all workers add up to no more than `limit`, unless the host
    /// has more pieces than that: each piece may have one.
    public func requests(of limit: Int) -> Int { max(pieces, limit * pieces / total) }

    /// Requests a second.
    public func rate(of limit: Double) -> Double { limit * Double(pieces) / Double(total) }
}
