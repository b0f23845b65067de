import Foundation
import LarderCore

/// How thorough a verification is, and how long it may take.
public struct VerifyOptions: Sendable {
    /// Which objects are looked at. Default: all.
    public var selection = VerifySelection.all
    /// Whether sizes are compared, and only files of another size than the index states are read.
    /// Default: false.
    public var isQuick = false
    /// After this long no further directory is begun, and the next verification of the same
    /// selection that is limited, too, and as quick or thorough, goes on there. Default: nil, no
    /// limit. At least one directory is verified. Only with ``VerifySelection/all`` and
    /// ``VerifySelection/part(_:of:)``, and if the cache can be written.
    public var maximumDuration: Duration?
    /// Asked often, from any thread: true ends the verification within moments. Default: never.
    public var isCancelled: @Sendable () -> Bool = { false }

    /// The defaults.
    public init() {}

    /// Names what a verification of the same thoroughness can continue; nil if it selects anew.
    var positionName: String? { selection.name.map { isQuick ? "\($0) quick" : $0 } }
}

/// The part of a cache that is verified. What is no object in its place belongs to the part of the
/// first object of its directory.
public enum VerifySelection: Sendable {
    /// Everything.
    case all
    /// One part of several equal ones by the digests' leading bits, the first being 1.
    case part(Int, of: Int)
    /// Each object with this probability, and whatever else there is. The same for the same seed.
    case share(Double, seed: UInt64)
    /// Only the objects that the function names, for each leading byte of the digests.
    case named(@Sendable (_ leadingByte: UInt8) throws(CacheError) -> Set<Digest>)

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
        case .part(let number, let count): Self.part(of: UInt64(byte) << 56, count: count) == number
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

/// The leading bytes of the directories that a limited verification has done. A set, because a slow
/// thread must not make the next run repeat what others have done. Kept in an expendable file.
struct VerifyPosition {
    /// More than anybody keeps up; beyond it all others are forgotten.
    private static let limit = 100

    private var done: Set<UInt8> = []

    init() {}

    init(_ name: String, in directory: CacheDirectory) {
        guard let bits = Self.all(in: directory)[name].flatMap(Digest.init(hex:))?.bytes
        else { return }
        done = Set((UInt8.min...UInt8.max).filter { bits[Int($0 / 8)] & 1 << ($0 % 8) != 0 })
    }

    var isEmpty: Bool { done.isEmpty }
    func contains(_ byte: UInt8) -> Bool { done.contains(byte) }
    mutating func insert(_ byte: UInt8) { done.insert(byte) }

    func save(as name: String, in directory: CacheDirectory) throws(CacheError) {
        var positions = Self.all(in: directory)
        guard !isEmpty || positions[name] != nil else { return }
        if positions.count >= Self.limit { positions = [:] }
        positions[name] = isEmpty ? nil : bits?.hex
        guard !positions.isEmpty else {
            unlinkat(directory.root.raw, CacheLayout.verifyPosition, 0)
            return
        }
        let members = positions.sorted { $0.key < $1.key }.map { "\"\($0.key)\":\"\($0.value)\"" }
        try directory.replace(
            CacheLayout.verifyPosition, beneath: directory.root,
            with: Array("{\(members.joined(separator: ","))}\n".utf8))
    }

    /// A bit for each byte: as many as a digest has, and spelled like one.
    private var bits: Digest? {
        var bits = [UInt8](repeating: 0, count: Digest.byteCount)
        for byte in done { bits[Int(byte / 8)] |= 1 << (byte % 8) }
        return Digest(bytes: bits)
    }

    private static func all(in directory: CacheDirectory) -> [String: String] {
        let bytes = try? directory.root.file(CacheLayout.verifyPosition).read(atMost: 32_768)
        return (try? JSONDecoder().decode([String: String].self, from: Data(bytes ?? []))) ?? [:]
    }
}
