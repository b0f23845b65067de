/// The part of the input that is in memory: bytes not yet consumed, contiguous, refilled on
/// demand. Memory is the initial capacity, or twice what a caller leaves unconsumed while filling.
final class ByteWindow {
    let input: ByteInput
    private var storage: UnsafeMutablePointer<UInt8>
    private var capacity: Int
    private var start = 0
    private var end = 0
    /// Whether the input has no bytes beyond the window.
    private(set) var isAtEnd = false
    /// The line of the next byte; the first is 1.
    private(set) var line: Int
    /// The place of the next byte in the input, counted from 0.
    private(set) var offset = 0
    /// The place of the current line's first byte.
    private var lineOffset = 0

    init(_ input: ByteInput, capacity: Int = 256 << 10, line: Int = 1) {
        self.input = input
        self.line = line
        self.capacity = capacity
        storage = .allocate(capacity: capacity)
    }

    deinit { storage.deallocate() }

    /// The column of the next byte in bytes; the first is 1.
    var column: Int { offset - lineOffset + 1 }

    /// The bytes in memory; valid until the next call that fills or consumes.
    var unread: UnsafeBufferPointer<UInt8> {
        UnsafeBufferPointer(start: storage + start, count: count)
    }

    /// How many bytes are in memory.
    var count: Int { end - start }

    /// Reads more until the window is full or the input at its end; false if nothing came.
    ///
    /// Filling whole windows, and not what one `read` gives, keeps a caller that starts over
    /// after each fill from quadratic work on a slow pipe.
    func fill() throws -> Bool {
        guard !isAtEnd else { return false }
        if count > capacity / 2 {
            let larger = UnsafeMutablePointer<UInt8>.allocate(capacity: capacity * 2)
            larger.update(from: storage + start, count: count)
            storage.deallocate()
            storage = larger
            capacity *= 2
        } else {
            storage.update(from: storage + start, count: count)
        }
        let had = count
        (start, end) = (0, had)
        while end < capacity {
            let space = UnsafeMutableRawBufferPointer(start: storage + end, count: capacity - end)
            let got = try input.read(into: space)
            guard got > 0 else {
                isAtEnd = true
                break
            }
            end += got
        }
        return end > had
    }

    /// Drops the first `count` bytes and counts their lines.
    func consume(_ count: Int) {
        let consumed = UnsafeBufferPointer(rebasing: unread.prefix(count))
        var next = 0
        while let found = consumed.place(of: 0x0A, from: next) {
            line += 1
            next = found + 1
            lineOffset = offset + next
        }
        start += count
        offset += count
    }

    /// Consumes as many bytes as fit into a buffer; 0 at the end.
    func read(into buffer: UnsafeMutableRawBufferPointer) throws -> Int {
        guard try peek() != nil else { return 0 }
        let taken = UnsafeRawBufferPointer(unread).prefix(buffer.count)
        buffer.copyMemory(from: UnsafeRawBufferPointer(rebasing: taken))
        let count = taken.count
        start += count
        offset += count
        return count
    }

    /// The next byte, not consumed; nil at the end.
    func peek() throws -> UInt8? {
        if start == end { guard try fill() else { return nil } }
        return storage[start]
    }

    /// Consumes JSON's white space and returns the byte behind it, not consumed; nil at the end.
    func peekBehindBlanks() throws -> UInt8? {
        repeat {
            var next = start
            while next < end, storage[next].isJSONBlank { next += 1 }
            consume(next - start)
            if start < end { return storage[start] }
        } while try fill()
        return nil
    }

    /// The length of the current line with its line feed; nil if it is longer than `limit`.
    func lineLength(limit: Int) throws -> Int? {
        var searched = 0
        while true {
            if let found = unread.place(of: 0x0A, from: searched) {
                return found < limit ? found + 1 : nil
            }
            searched = count
            guard searched <= limit else { return nil }
            guard try fill() else { return searched }
        }
    }

    /// Consumes the rest of the current line with its line feed.
    func skipLine() throws {
        repeat {
            if let found = unread.place(of: 0x0A) { return consume(found + 1) }
            consume(count)
        } while try fill()
    }

    /// The place of a byte in memory, counted from the next one.
    func place(at offset: Int = 0) -> ManifestError.Place {
        var line = line
        var column = column
        for byte in unread.prefix(offset) {
            column += 1
            if byte == 0x0A { (line, column) = (line + 1, 1) }
        }
        return .line(line, column: column)
    }

    /// An error of the manifest at a byte in memory.
    func error(
        _ code: ManifestError.Code, at offset: Int = 0, _ reason: String
    ) -> ManifestError {
        ManifestError(code, source: input.name, at: place(at: offset), reason)
    }
}

extension UInt8 {
    /// White space as RFC 8259, section 2 has it.
    var isJSONBlank: Bool { self == 0x20 || self == 0x0A || self == 0x0D || self == 0x09 }
}
