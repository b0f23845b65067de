import Foundation

/// Where a verification of limited duration stopped, in a file of the root.
///
/// Expendable: without it, or with another selection's, the next one begins at the beginning.
struct VerifyPosition: Codable {
    /// The selection's name.
    let selection: String
    /// The leading byte of the first directory that was not verified.
    let next: UInt8

    static func load(_ selection: String, from directory: CacheDirectory) -> UInt8? {
        guard
            let file = try? FileDescriptor.open(
                CacheLayout.verifyPosition, beneath: directory.root, flags: O_RDONLY | O_NONBLOCK)
        else { return nil }
        var bytes = [UInt8](repeating: 0, count: 4096)
        guard
            let count = try? bytes.withUnsafeMutableBytes({
                try file.read(into: $0, subject: CacheLayout.verifyPosition)
            }),
            let position = try? JSONDecoder().decode(Self.self, from: Data(bytes[..<count]))
        else { return nil }
        return position.selection == selection ? position.next : nil
    }

    /// Replaces the file in one step.
    func save(in directory: CacheDirectory) throws(CacheError) {
        let bytes = Array("{\"selection\":\"\(selection)\",\"next\":\(next)}\n".utf8)
        try directory.replace(CacheLayout.verifyPosition, beneath: directory.root, with: bytes)
    }

    static func remove(from directory: CacheDirectory) {
        unlinkat(directory.root.raw, CacheLayout.verifyPosition, 0)
    }
}
