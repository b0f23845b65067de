/// Tells how far the reading of manifests is, a few times a second.
struct PlanMeter {
    private static let interval: Duration = .milliseconds(200)

    private let tell: (PlanProgress) -> Void
    private let start = ContinuousClock.now
    private var startOfThis = ContinuousClock.now
    private var last: ContinuousClock.Instant?
    private var progress = PlanProgress()

    init(_ tell: @escaping (PlanProgress) -> Void) { self.tell = tell }

    /// The next manifest is read from now on.
    mutating func begin(_ manifest: String) {
        startOfThis = .now
        (progress.manifest, progress.share) = (manifest, nil)
        show(startOfThis)
    }

    /// Counts items of the manifest.
    mutating func count(_ items: Int, share: Double?) {
        progress.icons += items
        progress.share = share
        let now = ContinuousClock.now
        if last.map({ now - $0 >= Self.interval }) ?? true { show(now) }
    }

    /// All were read.
    mutating func end() {
        (progress.manifest, progress.share) = (nil, nil)
        show(.now)
    }

    private mutating func show(_ now: ContinuousClock.Instant) {
        last = now
        progress.seconds = (now - start) / .seconds(1)
        progress.secondsOfThis = (now - startOfThis) / .seconds(1)
        tell(progress)
    }
}
