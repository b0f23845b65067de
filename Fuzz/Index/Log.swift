/// A writer of write-ahead logs with valid checksums (sqlite.org/fileformat2.html, "The WAL File").
enum Log {
    static func bytes(of database: [UInt8]) -> [UInt8] {
        let size = 4_096
        var sum: (UInt32, UInt32) = (0, 0)
        func add(_ bytes: ArraySlice<UInt8>) {
            var rest = bytes
            while rest.count >= 8 {
                sum.0 &+= number(rest.prefix(4)) &+ sum.1
                sum.1 &+= number(rest.dropFirst(4).prefix(4)) &+ sum.0
                rest = rest.dropFirst(8)
            }
        }
        // The magic number selects big-endian checksums. The salts 1 and 2 are arbitrary.
        var log = [0x377F_0683, 3_007_000, UInt32(size), 0, 1, 2].flatMap(bytes)
        add(log[...])
        log += bytes(sum.0) + bytes(sum.1)
        let pages = database.count / size
        for page in 0..<pages {
            let content = database[page * size..<(page + 1) * size]
            let head = bytes(UInt32(page + 1)) + bytes(page + 1 == pages ? UInt32(pages) : 0)
            add(head[...])
            add(content)
            log += head + bytes(1) + bytes(2) + bytes(sum.0) + bytes(sum.1) + content
        }
        return log
    }

    private static func number(_ bytes: ArraySlice<UInt8>) -> UInt32 {
        bytes.reduce(0) { $0 << 8 | UInt32($1) }
    }

    private static func bytes(_ number: UInt32) -> [UInt8] {
        withUnsafeBytes(of: number.bigEndian, Array.init)
    }
}
