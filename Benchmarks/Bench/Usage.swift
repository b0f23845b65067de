/// What a process took, from its start to its end.
struct Usage {
    /// All in seconds.
    var wall: Double
    var user: Double
    var system: Double
    /// The peak of its resident memory in bytes. Never less than this program's own, from which it
    /// was started.
    var peak: Double
}
