import CZlib
import Foundation

/// A streaming gzip compressor. Writes no name or date, so that equal input gives equal bytes.
final class Deflater {
    // On the heap, because zlib keeps its address.
    private let stream: UnsafeMutablePointer<z_stream>
    private let room: UnsafeMutableRawBufferPointer

    init() throws {
        stream = .allocate(capacity: 1)
        stream.initialize(to: z_stream())
        room = .allocate(byteCount: 64 << 10, alignment: 16)
        guard larder_gzip_start(stream) == Z_OK else { throw CocoaError(.fileWriteUnknown) }
    }

    deinit {
        deflateEnd(stream)
        stream.deallocate()
        room.deallocate()
    }

    func add(
        _ bytes: UnsafeRawBufferPointer, to sink: (UnsafeRawBufferPointer) throws -> Void
    ) throws {
        guard !bytes.isEmpty else { return }
        stream.pointee.next_in = UnsafeMutablePointer(
            mutating: bytes.bindMemory(to: UInt8.self).baseAddress)
        stream.pointee.avail_in = UInt32(bytes.count)
        repeat { try step(Z_NO_FLUSH, sink) } while stream.pointee.avail_out == 0
    }

    func finish(to sink: (UnsafeRawBufferPointer) throws -> Void) throws {
        stream.pointee.avail_in = 0
        while try step(Z_FINISH, sink) != Z_STREAM_END {}
    }

    @discardableResult
    private func step(
        _ flush: Int32, _ sink: (UnsafeRawBufferPointer) throws -> Void
    ) throws -> Int32 {
        stream.pointee.next_out = room.bindMemory(to: UInt8.self).baseAddress
        stream.pointee.avail_out = UInt32(room.count)
        let code = deflate(stream, flush)
        let count = room.count - Int(stream.pointee.avail_out)
        if count > 0 { try sink(UnsafeRawBufferPointer(rebasing: room.prefix(count))) }
        return code
    }
}
