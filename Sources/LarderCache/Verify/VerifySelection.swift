/// Which part of a cache is verified.
///
/// Whatever is no object in its place belongs to the part that the beginning of its directory's
/// objects belongs to, so that parts which cover the objects cover everything, once.
public enum VerifySelection: Sendable {
    /// Everything.
    case all
    /// One part of several equal ones by the digests' leading bits, the first being 1.
    case part(Int, of: Int)
    /// Each object with this probability, and whatever else there is. The same for the same seed.
    case share(Double, seed: UInt64)
    /// The objects that the function names, asked for each leading byte of the digests; nothing
    /// else.
    case named(@Sendable (_ leadingByte: UInt8) throws(CacheError) -> Set<Digest>)

    /// Which of the objects whose digests begin with `byte`.
    func objects(_ byte: UInt8) throws(CacheError) -> (Digest) -> Bool {
        switch self {
        case .all: return { _ in true }
        case .part(let number, let count):
            return { Self.part(of: $0.leadingBits, count: count) == number }
        case .share(let share, let seed):
            return { Self.fraction($0.leadingBits ^ Self.mix(seed)) < share }
        case .named(let digests):
            let named = try digests(byte)
            return { named.contains($0) }
        }
    }

    /// Whether any object whose digest begins with `byte` may belong to it.
    func touches(_ byte: UInt8) -> Bool {
        guard case .part(let number, let count) = self else { return true }
        let first = UInt64(byte) << 56
        return Self.part(of: first, count: count) <= number
            && number <= Self.part(of: first | (1 << 56 - 1), count: count)
    }

    /// Whether what is no object of the directory of `byte` belongs to it.
    func includesStrays(_ byte: UInt8) -> Bool {
        switch self {
        case .all, .share: true
        case .part(let number, let count):
            Self.part(of: UInt64(byte) << 56, count: count) == number
        case .named: false
        }
    }

    /// Names it beside a position that is kept; nil if the next run selects anew.
    var name: String? {
        switch self {
        case .all: "all"
        case .part(let number, let count): "\(number)/\(count)"
        case .share, .named: nil
        }
    }

    /// Multiplied and not divided: every value falls into exactly one of the parts.
    private static func part(of bits: UInt64, count: Int) -> Int {
        Int(bits.multipliedFullWidth(by: UInt64(count)).high) + 1
    }

    private static func fraction(_ bits: UInt64) -> Double {
        Double(mix(bits) >> 11) / Double(1 << 53 as UInt64)
    }

    /// The finalizer of SplitMix64 (Steele, Lea, Flood 2014).
    private static func mix(_ bits: UInt64) -> UInt64 {
        var bits = bits &+ 0x9E37_79B9_7F4A_7C15
        bits = (bits ^ (bits >> 30)) &* 0xBF58_476D_1CE4_E5B9
        bits = (bits ^ (bits >> 27)) &* 0x94D0_49BB_1331_11EB
        return bits ^ (bits >> 31)
    }
}
