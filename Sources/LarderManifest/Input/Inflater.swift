import CZlib

/// What a gzip file holds (RFC 1952), unpacked while it is read. Several members one after another
/// read as one; what follows them, such as padding, is ignored.
final class Inflater {
    // On the heap because zlib remembers the address.
    private let stream: UnsafeMutablePointer<z_stream>
    private let window: ByteWindow
    private var isBetweenMembers = false

    init(_ window: ByteWindow) throws {
        self.window = window
        stream = .allocate(capacity: 1)
        stream.initialize(to: z_stream())
        guard larder_gzip_begin(stream) == Z_OK else {
            throw window.error(.malformed, "no memory to unpack it")
        }
    }

    deinit {
        inflateEnd(stream)
        stream.deallocate()
    }

    /// How many bytes of the file were unpacked.
    var packedCount: Int { window.offset }

    /// Whether bytes begin as a gzip file does.
    static func isGzip(_ bytes: UnsafeBufferPointer<UInt8>) -> Bool {
        bytes.starts(with: [0x1F, 0x8B])
    }

    /// Reads on; 0 at the end.
    func read(into buffer: UnsafeMutableRawBufferPointer) throws -> Int {
        while true {
            guard try window.peek() != nil else {
                guard isBetweenMembers else { throw failure("the gzip file ends early") }
                return 0
            }
            if isBetweenMembers {
                if window.count < 2 { _ = try window.fill() }
                guard Self.isGzip(window.unread) else { return 0 }
                inflateReset(stream)
                isBetweenMembers = false
            }
            let input = min(window.count, Int(UInt32.max))
            stream.pointee.next_in = UnsafeMutablePointer(mutating: window.unread.baseAddress)
            stream.pointee.avail_in = UInt32(input)
            stream.pointee.next_out = buffer.bindMemory(to: UInt8.self).baseAddress
            stream.pointee.avail_out = UInt32(buffer.count)
            let code = inflate(stream, Z_NO_FLUSH)
            let taken = input - Int(stream.pointee.avail_in)
            let given = buffer.count - Int(stream.pointee.avail_out)
            window.consume(taken)
            isBetweenMembers = code == Z_STREAM_END
            guard code == Z_STREAM_END || code == Z_OK, isBetweenMembers || taken + given > 0 else {
                throw failure("the gzip file is damaged")
            }
            if given > 0 { return given }
        }
    }

    /// Without a place: lines of packed bytes mean nothing.
    private func failure(_ reason: String) -> ManifestError {
        ManifestError(.malformed, source: window.input.name, reason)
    }
}
