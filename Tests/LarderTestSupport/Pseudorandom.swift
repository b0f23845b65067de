/// A pseudorandom number generator with a seed: SplitMix64 (Steele, Lea, Flood, "Fast splittable
/// pseudorandom number generators", 2014).
public struct Pseudorandom: RandomNumberGenerator {
    private var state: UInt64

    /// Starts the sequence of a seed.
    public init(seed: Int) { state = UInt64(bitPattern: Int64(seed)) }

    /// Returns the next 64 bits.
    public mutating func next() -> UInt64 {
        state &+= 0x9E37_79B9_7F4A_7C15
        var bits = state
        bits = (bits ^ (bits >> 30)) &* 0xBF58_476D_1CE4_E5B9
        bits = (bits ^ (bits >> 27)) &* 0x94D0_49BB_1331_11EB
        return bits ^ (bits >> 31)
    }

    /// Returns a number in `0..<limit`.
    public mutating func next(below limit: Int) -> Int { Int.random(in: 0..<limit, using: &self) }
}
