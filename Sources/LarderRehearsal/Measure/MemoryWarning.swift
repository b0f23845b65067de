/// A warning that memory is short, raised when the limit was reached.
package struct MemoryWarning: Sendable, Codable, Equatable {
    /// Seconds on the scroll's clock.
    package let time: Double
    /// Bytes of images that were held.
    package let before: Int
    /// Bytes of images that were held when everybody had heard of it.
    package let after: Int
}
