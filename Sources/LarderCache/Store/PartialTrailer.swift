import Foundation

/// What stands behind the bytes in a partial body's file.
struct PartialTrailer: Codable {
    let validator: String
    let fields: Validators
    let count: Int64
    let totalBytes: Int64?
    /// SHA-256 of the bytes, in hexadecimal digits: what a power cut left of a file that was never
    /// synced is not what was received.
    let digest: String

    /// The last bytes of every such file, after four that give the length of what precedes them.
    private static let mark = Array("larderpb".utf8)
    private static let longest = 16 << 10

    var bytes: [UInt8]? {
        guard let json = try? JSONEncoder().encode(self), json.count <= Self.longest else {
            return nil
        }
        let length = UInt32(json.count).bigEndian
        return Array(json) + withUnsafeBytes(of: length, Array.init) + Self.mark
    }

    private static func read(_ file: FileDescriptor, at offset: off_t, count: Int) -> [UInt8]? {
        guard offset >= 0 else { return nil }
        var bytes = [UInt8](repeating: 0, count: count)
        return pread(file.raw, &bytes, count, offset) == count ? bytes : nil
    }
}

extension PartialTrailer {
    /// Reads the trailer of a file; nil if there is none that fits the file.
    init?(of file: FileDescriptor) {
        guard let size = try? file.status().st_size,
            let end = Self.read(file, at: size - 12, count: 12), end.suffix(8) == Self.mark[...]
        else { return nil }
        let length = end.prefix(4).reduce(0) { $0 << 8 | Int($1) }
        guard length <= Self.longest,
            let json = Self.read(file, at: size - 12 - off_t(length), count: length),
            let trailer = try? JSONDecoder().decode(PartialTrailer.self, from: Data(json)),
            trailer.count == Int64(size) - 12 - Int64(length)
        else { return nil }
        self = trailer
    }
}
