extension Int {
    /// A count for people: `1 object`, `2 objects`.
    ///
    /// - Parameter several: what more than one are. Default: the same with an s.
    package func of(_ one: String, _ several: String? = nil) -> String {
        "\(self) \(self == 1 ? one : several ?? one + "s")"
    }
}
