import Foundation
import LarderCache
import LarderCore
import LarderExport
import LarderManifest
import NIOCore
import Synchronization

/// A manifest in its plain form, in a temporary file. Each icon URL begins with a mark, which
/// ``ManifestText`` replaces with the server's URL.
final class ManifestSpool: Sendable {
    /// A control character that never occurs in URLs and is escaped in names.
    fileprivate static let mark: UInt8 = 0x7F

    fileprivate let size: Int64
    fileprivate let marks: Int
    let unusable: Int
    fileprivate let name = UInt64.random(in: .min ... .max)
    fileprivate let file: LarderCache.FileDescriptor

    init(_ source: ManifestSource, rules: ManifestRules) throws {
        let file = try LarderCache.FileDescriptor.unnamed()
        let output = GeneratedFile(file)
        var (marks, unusable) = (0, 0)
        let summary = try ManifestReader(source: source, rules: rules).read { item in
            var (name, priority) = ("", 0)
            switch item.result {
            case .entry(let entry): (name, priority) = (entry.name, entry.priority)
            case .inline(let entry): (name, priority) = (entry.name, entry.priority)
            case .failed:
                unusable += 1
                return
            case .skipped, .unfetched: return
            }
            guard let key = item.resourceKey else { return }
            var object: JSONObject = ["icon": "\u{7F}\(LocalizeTarget.url(of: key, at: ""))"]
            if !name.isEmpty { object.set("name", exactly: name) }
            if priority != 0 { object.set("priority", priority) }
            let expectation = item.result.expectation
            if let digest = expectation.digest {
                object.set("integrity", "sha256-" + Data(digest.bytes).base64EncodedString())
            }
            if let size = expectation.size { object.set("size", size) }
            try output.write("\(marks == 0 ? "[" : ",")\n\(object.text)".utf8)
            marks += 1
        }
        if let refusal = summary.refusal(of: source) { throw refusal }
        try output.write((marks == 0 ? "[]\n" : "\n]\n").utf8)
        size = try output.finish().count
        (self.file, self.marks, self.unusable) = (file, marks, unusable)
    }
}

/// A manifest as the body of a response, in chunks. One thread at a time creates them.
final class ManifestText: Sendable {
    /// The size of a chunk in bytes. Memory holds one chunk per client.
    private static let pieceSize = 8 << 10

    private let spool: ManifestSpool
    private let base: [UInt8]
    private let offset = Mutex<Int64>(0)

    init(_ spool: ManifestSpool, base: String) {
        (self.spool, self.base) = (spool, Array(base.utf8))
    }

    var length: Int64 { spool.size + Int64(spool.marks * (base.count - 1)) }

    var entityTag: String {
        "\"\(String(spool.name, radix: 36))-\(Digest(of: base).hex.prefix(16))\""
    }

    func next() throws -> ByteBuffer? {
        let start = offset.withLock { $0 }
        guard start < spool.size else { return nil }
        let file = spool.file
        let piece = try file.read(at: start, atMost: Self.pieceSize)
        guard !piece.isEmpty else { throw CacheError("read", subject: file.subject, errno: EIO) }
        var text = ByteBufferAllocator().buffer(capacity: Self.pieceSize + base.count)
        var rest = piece[...]
        // The base can be much longer than a mark, so the output is also limited.
        while !rest.isEmpty, text.readableBytes < Self.pieceSize {
            let part = rest.prefix(Self.pieceSize - text.readableBytes)
            let mark = part.firstIndex(of: ManifestSpool.mark)
            text.writeBytes(part[..<(mark ?? part.endIndex)])
            if mark != nil { text.writeBytes(base) }
            rest = rest[(mark.map { $0 + 1 } ?? part.endIndex)...]
        }
        offset.withLock { $0 = start + Int64(piece.count - rest.count) }
        return text
    }
}
