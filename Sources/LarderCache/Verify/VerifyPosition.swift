import Foundation

/// How far a verification of limited duration has come: the leading bytes of the directories that
/// are done. Not the first that is not, since a thread that falls behind would have all be done
/// again that others have done meanwhile.
///
/// Kept in a file of the root, for each verification that may be continued, by its name.
/// Expendable: without it the next one begins at the beginning.
struct VerifyPosition {
    /// More than anybody keeps up; beyond it all others are forgotten.
    private static let limit = 100

    private var done: Set<UInt8> = []

    /// The beginning.
    init() {}

    /// Where the last one of a name has stopped.
    init(_ name: String, in directory: CacheDirectory) {
        guard let bits = Self.all(in: directory)[name].flatMap(Digest.init(hex:))?.bytes
        else { return }
        done = Set((UInt8.min...UInt8.max).filter { bits[Int($0 / 8)] & 1 << ($0 % 8) != 0 })
    }

    var isEmpty: Bool { done.isEmpty }

    func contains(_ byte: UInt8) -> Bool { done.contains(byte) }

    mutating func insert(_ byte: UInt8) { done.insert(byte) }

    /// Replaces the file in one step.
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
