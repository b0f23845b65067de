/// A binary plist's bytes at any offset, in bounded memory: a file is read in blocks, and what
/// comes out of a pipe is put into one first.
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
            (input, count) = try Self.file(of: window, limit: limits.maximumPipedSize)
        }
        // Only now: if the initializer throws, nothing is deallocated.
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

    private static func file(
        of window: ByteWindow, limit: Int
    ) throws -> (input: ByteInput, count: Int) {
        let name = window.input.name
        let file = try UnnamedFile(for: name)
        let input = ByteInput(descriptor: file.descriptor, isOwned: true, name: name)
        var count = 0
        while try window.peek() != nil {
            count += window.count
            guard count <= limit else {
                throw ManifestError(
                    .tooLarge, source: name,
                    "a binary plist from a pipe may have \(limit) bytes; give it as a file")
            }
            let number = file.append(UnsafeRawBufferPointer(window.unread))
            guard number == 0 else {
                throw ManifestError.system(number, "cannot put it into a file", source: name)
            }
            window.consume(window.count)
        }
        return (input, count)
    }
}
