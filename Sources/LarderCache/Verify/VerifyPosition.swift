import Foundation

/// Where verifications of limited duration stopped, in a file of the root: for each that may be continued, by
/// its name, the leading byte of the first directory that was not verified.
///
/// Expendable: without it the next one begins at the beginning.
enum VerifyPosition {
    /// More than anybody keeps up; beyond it all others are forgotten.
    private static let limit = 100

    static func load(_ name: String, from directory: CacheDirectory) -> UInt8? {
        all(in: directory)[name]
    }

    /// Replaces the file in one step; nil begins at the beginning.
    static func save(
        _ next: UInt8?, as name: String, in directory: CacheDirectory
    ) throws(CacheError) {
        var positions = all(in: directory)
        guard next != nil || positions[name] != nil else { return }
        if positions.count >= limit { positions = [:] }
        positions[name] = next
        guard !positions.isEmpty else {
            unlinkat(directory.root.raw, CacheLayout.verifyPosition, 0)
            return
        }
        let members = positions.sorted { $0.key < $1.key }.map { "\"\($0.key)\":\($0.value)" }
        try directory.replace(
            CacheLayout.verifyPosition, beneath: directory.root,
            with: Array("{\(members.joined(separator: ","))}\n".utf8))
    }

    private static func all(in directory: CacheDirectory) -> [String: UInt8] {
        guard
            let file = try? FileDescriptor.open(
                CacheLayout.verifyPosition, beneath: directory.root, flags: O_RDONLY | O_NONBLOCK)
        else { return [:] }
        var bytes = [UInt8](repeating: 0, count: 16_384)
        let count = bytes.withUnsafeMutableBytes {
            (try? file.read(into: $0, subject: CacheLayout.verifyPosition)) ?? 0
        }
        return (try? JSONDecoder().decode([String: UInt8].self, from: Data(bytes[..<count]))) ?? [:]
    }
}
