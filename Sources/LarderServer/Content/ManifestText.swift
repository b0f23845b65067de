import Foundation
import LarderCache
import NIOCore
import Synchronization

/// A spool's text with the server's own URL in it, piece by piece.
final class ManifestText: ChunkSource {
    /// The most bytes of a piece, of which each slow reader keeps one in memory.
    private static let pieceSize = 8 << 10

    private let spool: ManifestSpool
    private let base: [UInt8]
    private let offset = Mutex<Int64>(0)

    /// - Parameter base: the server's URL, without a slash at its end.
    init(_ spool: ManifestSpool, base: String) {
        self.spool = spool
        self.base = Array(base.utf8)
    }

    /// How many bytes all of it has.
    var length: Int64 { spool.size + Int64(spool.marks * (base.count - 1)) }

    /// Another one for each text.
    var entityTag: String {
        // FNV-1a: two servers' URLs have two tags, and nobody gains by two that are equal.
        let hash = base.reduce(0xcbf2_9ce4_8422_2325 as UInt64) {
            ($0 ^ UInt64($1)) &* 0x100_0000_01b3
        }
        return "\"\(String(spool.name, radix: 36))-\(String(hash, radix: 36))\""
    }

    func next() throws -> ByteBuffer? {
        let start = offset.withLock { $0 }
        guard start < spool.size else { return nil }
        let piece = try spool.read(at: start, atMost: Self.pieceSize)
        var text = ByteBufferAllocator().buffer(capacity: Self.pieceSize + base.count)
        var rest = piece[...]
        // The base may be many times as long as the mark in whose place it is sent.
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
