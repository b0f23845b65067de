/// A binary plist's bytes at any offset, in bounded memory: a file is read in blocks, and only
/// what comes out of a pipe is held whole.
///
/// Not mapped into memory: a file that another process truncates would end this one, and its
/// pages would count as this process's memory.
final class BinaryPlistBytes {
    /// How many there are.
    let count: Int
    private let input: ByteInput
    private let blocks: UnsafeMutableRawBufferPointer
    /// The file's block that each place of `blocks` holds; -1 for none.
    private let held: UnsafeMutablePointer<Int>
    /// Where a run of bytes is put together that crosses blocks.
    private var scratch: UnsafeMutableRawBufferPointer

    private static let blockSize = 4 << 10
    private static let placeCount = 256

    init(_ window: ByteWindow, limits: ManifestLimits) throws {
        if let size = window.input.seekableSize {
            input = window.input
            count = size
        } else {
            let whole = try Self.wholeInput(window, limit: limits.maximumPipedSize)
            input = ByteInput(bytes: whole, name: window.input.name)
            count = whole.count
        }
        // Only now: nothing is let go of where the initializer throws.
        scratch = .allocate(byteCount: 0, alignment: 1)
        blocks = .allocate(byteCount: Self.blockSize * Self.placeCount, alignment: 16)
        held = .allocate(capacity: Self.placeCount)
        held.initialize(repeating: -1, count: Self.placeCount)
    }

    deinit {
        blocks.deallocate()
        held.deallocate()
        scratch.deallocate()
    }

    /// A run of bytes, which must lie within the file; valid until the next call.
    func run(at offset: Int, count: Int) throws -> UnsafeRawBufferPointer {
        let block = offset / Self.blockSize
        let start = offset % Self.blockSize
        if start + count <= Self.blockSize {
            let place = block % Self.placeCount
            let bytes = UnsafeMutableRawBufferPointer(
                rebasing: blocks[(place * Self.blockSize)..<((place + 1) * Self.blockSize)])
            if held[place] != block {
                held[place] = -1
                let offset = block * Self.blockSize
                try read(.init(rebasing: bytes.prefix(self.count - offset)), at: offset)
                held[place] = block
            }
            return UnsafeRawBufferPointer(rebasing: bytes[start..<(start + count)])
        }
        if scratch.count < count {
            scratch.deallocate()
            scratch = .allocate(byteCount: count, alignment: 16)
        }
        let bytes = UnsafeMutableRawBufferPointer(rebasing: scratch.prefix(count))
        try read(bytes, at: offset)
        return UnsafeRawBufferPointer(bytes)
    }

    /// The big-endian number of up to eight bytes at `offset`.
    func unsigned(at offset: Int, width: Int) throws -> UInt64 {
        try run(at: offset, count: width).reduce(0) { $0 << 8 | UInt64($1) }
    }

    private func read(_ bytes: UnsafeMutableRawBufferPointer, at offset: Int) throws {
        var filled = 0
        while filled < bytes.count {
            let rest = UnsafeMutableRawBufferPointer(rebasing: bytes[filled...])
            let got = try input.read(into: rest, at: offset + filled)
            guard got > 0 else {
                throw ManifestError(
                    .malformed, source: input.name, "the file became shorter while it was read")
            }
            filled += got
        }
    }

    private static func wholeInput(_ window: ByteWindow, limit: Int) throws -> [UInt8] {
        var whole: [UInt8] = []
        while try window.peek() != nil {
            whole += window.unread
            window.consume(window.count)
            guard whole.count <= limit else {
                throw ManifestError(
                    .tooLarge, source: window.input.name,
                    "a binary plist from a pipe may have \(limit) bytes; give it as a file")
            }
        }
        return whole
    }
}
