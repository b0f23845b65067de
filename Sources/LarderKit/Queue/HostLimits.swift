import LarderTransfer

/// How much may be asked of each origin.
struct HostLimits: Sendable {
    /// Requests at once that all workers together may have under way at one.
    let perHost: Int
    /// Requests at once that this run may have under way at one: the transfer loop allows no more.
    let most: Int
    /// Requests a second that all workers together may begin; nil for no limit.
    let ratePerHost: Double?
    /// Which worker of several this is; nil if there is no other.
    var shard: Shard?

    /// What one origin may be asked for.
    struct Limit {
        let requests: Int
        /// The least time between the beginnings of two of them; nil for none.
        let interval: Duration?
        /// Whether other workers have the rest of it. The transfer loop does not know of them.
        let isShared: Bool
    }

    /// - Parameter origin: as ``HTTPURL/origin`` has it.
    func limit(ofOrigin origin: String) -> Limit {
        let share = share(ofOrigin: origin)
        let rate = ratePerHost.map { share?.rate(of: $0) ?? $0 }
        return Limit(
            requests: min(share?.requests(of: perHost) ?? perHost, most),
            interval: rate.map { .seconds(1 / $0) }, isShared: share != nil)
    }

    private func share(ofOrigin origin: String) -> HostShare? {
        guard let shard, !shard.splits.isEmpty, let url = try? HTTPURL(origin) else { return nil }
        return shard.share(ofHost: url.host)
    }
}
