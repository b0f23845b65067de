#if canImport(Darwin)
    import Darwin
#else
    import Glibc
#endif

/// The part of a document that is in memory, refilled on demand.
final class XMLInput {
    private let read: (UnsafeMutableRawBufferPointer) throws -> Int
    private var storage: UnsafeMutablePointer<UInt8>
    private var capacity: Int
    private var start = 0
    private var end = 0
    private var isAtEnd = false
    /// The line of the next byte.
    private(set) var line: Int

    /// - Parameters:
    ///   - capacity: the number of bytes that are read at once. The buffer grows if a caller leaves
    ///     more than half of it unconsumed.
    ///   - line: the line of the first byte.
    ///   - read: fills a buffer and returns the number of bytes, 0 at the end.
    init(
        capacity: Int, line: Int, _ read: @escaping (UnsafeMutableRawBufferPointer) throws -> Int
    ) {
        self.capacity = capacity
        self.line = line
        self.read = read
        storage = .allocate(capacity: capacity)
    }

    deinit { storage.deallocate() }

    /// The bytes in memory; valid until the next call that fills or consumes.
    var unread: UnsafeBufferPointer<UInt8> {
        UnsafeBufferPointer(start: storage + start, count: count)
    }

    /// The number of bytes in memory.
    var count: Int { end - start }

    /// Reads until the buffer is full or the document ends; false if there was nothing more.
    func fill() throws -> Bool {
        guard !isAtEnd else { return false }
        let had = count
        if had > capacity / 2 {
            let larger = UnsafeMutablePointer<UInt8>.allocate(capacity: capacity * 2)
            larger.update(from: storage + start, count: had)
            storage.deallocate()
            storage = larger
            capacity *= 2
        } else {
            storage.update(from: storage + start, count: had)
        }
        (start, end) = (0, had)
        while end < capacity {
            let got = try read(.init(start: storage + end, count: capacity - end))
            guard got > 0 else {
                isAtEnd = true
                break
            }
            end += got
        }
        return end > had
    }

    /// Fills until that many bytes are in memory, or the document ends.
    func fill(to count: Int) throws { while self.count < count, try fill() {} }

    /// Drops the first bytes, and counts their lines.
    func consume(_ count: Int) {
        let consumed = UnsafeBufferPointer(rebasing: unread.prefix(count))
        var next = 0
        while let found = consumed.place(of: UInt8(ascii: "\n"), from: next) {
            line += 1
            next = found + 1
        }
        start += count
    }
}

extension UnsafeBufferPointer<UInt8> {
    /// The index of the first byte with that value, at or after `start`. Nil if no byte has it.
    func place(of byte: UInt8, from start: Int = 0) -> Int? {
        guard start < count, let base = baseAddress,
            let found = memchr(base + start, Int32(byte), count - start)
        else { return nil }
        return UnsafeRawPointer(found) - UnsafeRawPointer(base)
    }
}

extension UInt8 {
    /// Whether it is white space (XML 1.0, section 2.3).
    var isXMLBlank: Bool { self == 0x20 || self == 0x0A || self == 0x0D || self == 0x09 }
}
