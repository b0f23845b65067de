import Foundation
import LarderCore

/// The selection, thoroughness and time limit of a verification.
public struct VerifyOptions: Sendable {
    /// The objects to verify. Default: all.
    public var selection = VerifySelection.all
    /// Whether to read a file only if its size differs from that in the index. Default: false.
    public var isQuick = false
    /// The time limit, after which no further directory is started. The next verification with a
    /// time limit, the same selection and the same ``isQuick`` continues from there. At least one
    /// directory is always verified. Needs ``VerifySelection/all`` or
    /// ``VerifySelection/part(_:of:)``, and a writable cache. Default: no limit.
    public var maximumDuration: Duration?
    /// Called often, from any thread. Returning true stops the verification soon. Default: never.
    public var isCancelled: @Sendable () -> Bool = { false }

    /// Creates default options.
    public init() {}

    var positionName: String? { selection.name.map { isQuick ? "\($0) quick" : $0 } }
}

/// The objects to verify. Files that are not objects belong to the part that contains the lowest
/// digest of their directory.
public enum VerifySelection: Sendable {
    /// All objects.
    case all
    /// One of several equal parts, numbered from 1 and divided by the leading bits of digests.
    case part(Int, of: Int)
    /// A random share of the objects, fixed by the seed, and all files that are not objects.
    case share(Double, seed: UInt64)
    /// The objects whose digests the function returns for each leading byte.
    case named(@Sendable (_ leadingByte: UInt8) throws(CacheError) -> Set<Digest>)

    func objects(_ byte: UInt8) throws(CacheError) -> (Digest) -> Bool {
        switch self {
        case .all: return { _ in true }
        case .part(let number, let count):
            return { Self.part(of: $0.leadingBits, count: count) == number }
        case .share(let share, let seed):
            // Fibonacci hashing (Knuth 6.4) mixes the seed with the digest, which is random itself.
            let factor: UInt64 = 0x9E37_79B9_7F4A_7C15
            return { Double((($0.leadingBits ^ seed) &* factor) >> 11) / 0x1p53 < share }
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

    func includesStrays(_ byte: UInt8) -> Bool {
        switch self {
        case .all, .share: true
        case .part(let number, let count): Self.part(of: UInt64(byte) << 56, count: count) == number
        case .named: false
        }
    }

    var name: String? {
        switch self {
        case .all: "all"
        case .part(let number, let count): "\(number)/\(count)"
        case .share, .named: nil
        }
    }

    /// Returns a part's number. Unlike division, multiplication puts a value in exactly one part.
    private static func part(of bits: UInt64, count: Int) -> Int {
        Int(bits.multipliedFullWidth(by: UInt64(count)).high) + 1
    }
}

/// The leading bytes of completed directories, saved in an expendable file.
struct VerifyPosition {
    private var bits = [UInt8](repeating: 0, count: Digest.byteCount)

    init() {}

    init(_ name: String, in directory: CacheDirectory) {
        let saved = Self.all(in: directory)[name].flatMap(Digest.init(hex:))
        bits = saved?.bytes ?? bits
    }

    var isEmpty: Bool { bits.allSatisfy { $0 == 0 } }
    func contains(_ byte: UInt8) -> Bool { bits[Int(byte / 8)] & 1 << (byte % 8) != 0 }
    mutating func insert(_ byte: UInt8) { bits[Int(byte / 8)] |= 1 << (byte % 8) }

    func save(as name: String, in directory: CacheDirectory) throws(CacheError) {
        var positions = Self.all(in: directory)
        guard !isEmpty || positions[name] != nil else { return }
        positions[name] = isEmpty ? nil : Digest(bytes: bits)?.hex
        guard !positions.isEmpty else {
            unlinkat(directory.root.raw, CacheLayout.verifyPosition, 0)
            return
        }
        let members = positions.sorted { $0.key < $1.key }.map { "\"\($0.key)\":\"\($0.value)\"" }
        let text = "{\(members.joined(separator: ","))}\n"
        try directory.replace(CacheLayout.verifyPosition, in: directory.root, Array(text.utf8))
    }

    /// Returns the saved positions, or none if there are more than about 300.
    private static func all(in directory: CacheDirectory) -> [String: String] {
        let bytes = try? directory.root.file(CacheLayout.verifyPosition).read(atMost: 32_768)
        return (try? JSONDecoder().decode([String: String].self, from: Data(bytes ?? []))) ?? [:]
    }
}
