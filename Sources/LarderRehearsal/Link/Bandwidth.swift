/// A line that all transfers share: each piece takes its time on it, one after another.
struct Bandwidth {
    /// What one transfer sends before the others have their turn.
    static let piece = 16 << 10

    private let bytesPerSecond: Double
    /// When the line is free, since the beginning.
    private var free = Duration.zero

    init(bytesPerSecond: Int64) { self.bytesPerSecond = Double(max(1, bytesPerSecond)) }

    /// Takes the line for so many bytes.
    ///
    /// - Returns: when the last of them arrives.
    mutating func book(_ bytes: Int, at now: Duration) -> Duration {
        free = max(free, now) + .seconds(Double(bytes) / bytesPerSecond)
        return free
    }
}
