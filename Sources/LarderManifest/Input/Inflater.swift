import CZlib

/// A streaming decompressor of gzip files (RFC 1952). Ignores bytes after the last member.
final class Inflater {
    // On the heap, because zlib keeps its address.
    private let stream: UnsafeMutablePointer<z_stream>
    private let window: ByteWindow
    private let limits: ManifestLimits
    private var isBetweenMembers = false
    private var unpacked = 0

    init(_ window: ByteWindow, limits: ManifestLimits) throws {
        self.window = window
        self.limits = limits
        stream = .allocate(capacity: 1)
        stream.initialize(to: z_stream())
        guard larder_gzip_begin(stream) == Z_OK
        else { throw window.error(.malformed, "not enough memory to decompress the file") }
    }

    deinit {
        inflateEnd(stream)
        stream.deallocate()
    }

    static func isGzip(_ bytes: UnsafeBufferPointer<UInt8>) -> Bool {
        bytes.starts(with: [0x1F, 0x8B])
    }

    func read(into buffer: UnsafeMutableRawBufferPointer) throws -> Int {
        while true {
            guard try window.peek() != nil else {
                guard isBetweenMembers
                else { throw window.error(.malformed, at: nil, "the gzip file is truncated") }
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
            guard code == Z_STREAM_END || code == Z_OK, isBetweenMembers || taken + given > 0
            else { throw window.error(.malformed, at: nil, "the gzip file is damaged") }
            unpacked += given
            try checkLength()
            if given > 0 { return given }
        }
    }

    private func checkLength() throws {
        let (most, ratio) = (limits.maximumUnpackedSize, limits.maximumUnpackingRatio)
        let (bound, isBeyond) = window.offset.multipliedReportingOverflow(by: ratio)
        let isBomb = unpacked > ManifestLimits.freelyUnpackedSize && !isBeyond && unpacked > bound
        guard unpacked > most || isBomb else { return }
        let limit =
            unpacked > most
            ? "\(most) bytes; use --max-manifest-size"
            : "\(ratio) times its size; use --max-unpack-ratio"
        throw window.error(
            .tooLarge, at: nil, "the file decompresses to more than \(limit) to allow more")
    }
}
