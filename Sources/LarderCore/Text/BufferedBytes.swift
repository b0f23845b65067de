/// A contiguous input buffer. It grows only if more than half is unread before a fill.
package final class BufferedBytes {
    private let read: (UnsafeMutableRawBufferPointer) throws -> Int
    private var storage: UnsafeMutablePointer<UInt8>
    private var capacity: Int
    private var start = 0
    private var end = 0
    package private(set) var isAtEnd = false
    package var line: Int { position.line }
    package var offset: Int { position.offset }
    // Private, because release builds check for exclusive access to a package variable.
    private var position: (line: Int, offset: Int, lineOffset: Int)

    /// - Parameter read: Reads into a buffer. Returns the number of bytes, or 0 at the end.
    package init(
        capacity: Int, line: Int, _ read: @escaping (UnsafeMutableRawBufferPointer) throws -> Int
    ) {
        self.capacity = capacity
        position = (line, 0, 0)
        self.read = read
        storage = .allocate(capacity: capacity)
    }

    deinit { storage.deallocate() }

    /// The unconsumed bytes, valid until bytes are added or consumed.
    package var unread: UnsafeBufferPointer<UInt8> {
        UnsafeBufferPointer(start: storage + start, count: count)
    }

    package var count: Int { end - start }

    package var column: Int { offset - position.lineOffset + 1 }

    /// Reads until the buffer is full or the input ends. Returns false if no byte was read. Parsers
    /// start over after each call, so a call for each `read` would take quadratic time.
    package func fill() throws -> Bool {
        guard !isAtEnd else { return false }
        let (had, old) = (count, storage)
        if had > capacity / 2 {
            capacity *= 2
            storage = .allocate(capacity: capacity)
        }
        storage.update(from: old + start, count: had)
        if storage != old { old.deallocate() }
        (start, end) = (0, had)
        while end < capacity, !isAtEnd {
            let got = try read(.init(start: storage + end, count: capacity - end))
            isAtEnd = got == 0
            end += got
        }
        return end > had
    }

    package func fill(to count: Int) throws { while self.count < count, try fill() {} }

    package func consume(_ count: Int) {
        let consumed = UnsafeBufferPointer(rebasing: unread.prefix(count))
        var next = 0
        while let found = consumed.place(of: UInt8(ascii: "\n"), from: next) {
            next = found + 1
            (position.line, position.lineOffset) = (line + 1, offset + next)
        }
        start += count
        position.offset += count
    }

    /// Skips a UTF-8 byte order mark, which does not count as a column.
    package func skipMark() {
        guard unread.starts(with: [0xEF, 0xBB, 0xBF]) else { return }
        consume(3)
        position.lineOffset = offset
    }

    /// Marks the part of the current line that is still in the buffer as unread.
    package func unconsumeLine() {
        let count = min(offset - position.lineOffset, start)
        start -= count
        position.offset -= count
    }

    package func peek() throws -> UInt8? {
        if start == end { guard try fill() else { return nil } }
        return storage[start]
    }
}
