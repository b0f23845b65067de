/// How far the reading of manifests is.
public struct PlanProgress: Sendable, Equatable {
    /// The manifest that is being read, as it was given; nil when all were, and are compared with
    /// the cache.
    public var manifest: String?
    /// Icons of all manifests so far, an entry without one counting as one.
    public var icons = 0
    /// How much of this manifest was read, from 0 to 1; nil if nobody knows.
    public var share: Double?
    /// Seconds since the first manifest.
    public var seconds: Double = 0
    /// Seconds since this one.
    var secondsOfThis: Double = 0

    /// Icons read per second.
    public var iconsPerSecond: Double { seconds > 0 ? Double(icons) / seconds : 0 }

    /// The time in seconds until this manifest is read, if the rest goes on like this; nil if
    /// nobody knows.
    public var secondsLeft: Double? {
        share.flatMap { $0 > 0 ? secondsOfThis / $0 * (1 - $0) : nil }
    }
}
