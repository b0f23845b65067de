import LarderServer
import NIOCore

@testable import LarderServer

extension GalleryText {
    /// The bytes of the body; empty if it is sent in chunks.
    var bytes: ByteBuffer {
        switch body {
        case .bytes(let bytes): return bytes
        case .file(let file, let range):
            var buffer = ByteBuffer()
            buffer.writeWithUnsafeMutableBytes(minimumWritableBytes: range.count) { room in
                let room = UnsafeMutableRawBufferPointer(rebasing: room[..<range.count])
                return file.read(at: range.lowerBound, into: room) ? range.count : 0
            }
            return buffer
        case .chunks: return ByteBuffer()
        }
    }
}
