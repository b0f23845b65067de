/// A zlib (RFC 1950) encoder. It writes one Deflate block (RFC 1951) with the fixed codes and a
/// simple search for repetitions.
enum Deflate {
    static func zlibStream(_ bytes: [UInt8]) -> [UInt8] {
        var sum: (low: UInt32, high: UInt32) = (1, 0)
        for byte in bytes {
            sum.low = (sum.low + UInt32(byte)) % 65521
            sum.high = (sum.high + sum.low) % 65521
        }
        return [0x78, 0x01] + block(bytes) + (sum.high << 16 | sum.low).bigEndianBytes
    }

    /// Encodes the input as a single, final block.
    private static func block(_ bytes: [UInt8]) -> [UInt8] {
        var bits = BitWriter()
        bits.write(0b011, 3)
        var latest: [UInt32: Int] = [:]
        var position = 0
        while position < bytes.count {
            let match = match(in: bytes, at: position, &latest)
            if let match {
                write(length: match.length, distance: match.distance, to: &bits)
                position += match.length
            } else {
                write(symbol: Int(bytes[position]), to: &bits)
                position += 1
            }
        }
        write(symbol: 256, to: &bits)
        return bits.finished()
    }

    /// Finds the latest position with the same four bytes and returns the length of the match.
    private static func match(
        in bytes: [UInt8], at position: Int, _ latest: inout [UInt32: Int]
    ) -> (length: Int, distance: Int)? {
        guard position + 4 <= bytes.count else { return nil }
        let key = bytes[position..<position + 4].reduce(UInt32(0)) { $0 << 8 | UInt32($1) }
        defer { latest[key] = position }
        guard let start = latest[key], position - start <= 32768 else { return nil }
        var length = 4
        while length < 258, position + length < bytes.count,
            bytes[start + length] == bytes[position + length]
        {
            length += 1
        }
        return (length, position - start)
    }

    /// Writes a literal or length symbol (RFC 1951, section 3.2.6).
    private static func write(symbol: Int, to bits: inout BitWriter) {
        switch symbol {
        case 0...143: bits.write(reversed: 0x30 + symbol, 8)
        case 144...255: bits.write(reversed: 0x190 + symbol - 144, 9)
        case 256...279: bits.write(reversed: symbol - 256, 7)
        default: bits.write(reversed: 0xC0 + symbol - 280, 8)
        }
    }

    /// Writes a match (RFC 1951, section 3.2.5).
    private static func write(length: Int, distance: Int, to bits: inout BitWriter) {
        if length == 258 {
            write(symbol: 285, to: &bits)
        } else {
            let (code, extra, rest) = split(length - 3, groups: 4)
            write(symbol: 257 + code, to: &bits)
            bits.write(rest, extra)
        }
        let (code, extra, rest) = split(distance - 1, groups: 2)
        bits.write(reversed: code, 5)
        bits.write(rest, extra)
    }

    /// Splits a value into a code and extra bits. Each code covers twice as many values as the code
    /// `groups` before it.
    private static func split(_ value: Int, groups: Int) -> (code: Int, extra: Int, rest: Int) {
        guard value >= 2 * groups else { return (value, 0, 0) }
        let top = Int.bitWidth - 1 - value.leadingZeroBitCount
        let extra = top - groups.trailingZeroBitCount
        return (extra * groups + value >> extra, extra, value & (1 << extra - 1))
    }
}
