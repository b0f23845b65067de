import Foundation
import LarderCache
import LarderKit
import LarderTransfer

/// Writes entries into a spool's file.
struct ManifestSpoolWriter {
    private let file: FileDescriptor
    private var buffer: [UInt8] = []
    private var isEmpty = true
    private(set) var size: Int64 = 0
    private(set) var marks = 0

    init(_ file: FileDescriptor) { self.file = file }

    mutating func add(
        _ name: String, _ key: String, _ priority: Int, _ digest: Digest?, _ bytes: Int64?
    ) throws(CacheError) {
        var object = JSONObject()
        if !name.isEmpty { object.set("name", exactly: name) }
        if priority != 0 { object.set("priority", priority) }
        if let digest {
            object.set("integrity", "sha256-" + Data(digest.bytes).base64EncodedString())
        }
        if let bytes { object.set("size", bytes) }
        let rest = object.text.utf8.dropFirst()
        buffer += (isEmpty ? "[\n" : ",\n").utf8
        buffer += #"{"icon":""#.utf8
        buffer.append(ManifestSpool.mark)
        buffer += "/icon?url=".utf8
        buffer += key.percentEncoding(except: Self.isPlain).utf8
        buffer += (rest.count > 1 ? "\"," : "\"").utf8
        buffer += rest
        isEmpty = false
        marks += 1
        if buffer.count >= 64 << 10 { try flush() }
    }

    mutating func finish() throws(CacheError) {
        buffer += (isEmpty ? "[]\n" : "\n]\n").utf8
        try flush()
    }

    /// The unreserved characters of RFC 3986, and what may be in a query without a second meaning.
    private static func isPlain(_ byte: UInt8) -> Bool {
        byte.isDigit || 0x61...0x7A ~= byte || 0x41...0x5A ~= byte || "-._~/:".utf8.contains(byte)
    }

    private mutating func flush() throws(CacheError) {
        try file.write(buffer)
        size += Int64(buffer.count)
        buffer.removeAll(keepingCapacity: true)
    }
}
