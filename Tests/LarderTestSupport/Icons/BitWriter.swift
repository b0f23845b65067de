/// A bit stream that fills each byte from its lowest bit.
struct BitWriter {
    private var bytes: [UInt8] = []
    private var pending = 0
    private var count = 0

    mutating func write(_ value: Int, _ width: Int) {
        pending |= value << count
        count += width
        while count >= 8 {
            bytes.append(UInt8(pending & 0xFF))
            pending >>= 8
            count -= 8
        }
    }

    /// Writes a Huffman code, starting with its highest bit.
    mutating func write(reversed value: Int, _ width: Int) {
        write((0..<width).reduce(0) { $0 | (value >> $1 & 1) << (width - 1 - $1) }, width)
    }

    func finished() -> [UInt8] { count == 0 ? bytes : bytes + [UInt8(pending & 0xFF)] }
}
