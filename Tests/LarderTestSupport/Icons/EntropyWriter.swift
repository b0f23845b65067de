/// The bit stream of a JPEG scan, highest bit first, with a zero byte after each 0xFF.
struct EntropyWriter {
    typealias Code = (value: Int, width: Int)

    private var bytes: [UInt8] = []
    private var pending = 0
    private var count = 0

    mutating func write(_ code: Code?) {
        guard let code else { return }
        pending = pending << code.width | code.value
        count += code.width
        while count >= 8 {
            let byte = UInt8(pending >> (count - 8) & 0xFF)
            bytes.append(byte)
            if byte == 0xFF { bytes.append(0) }
            count -= 8
            pending &= 1 << count - 1
        }
    }

    /// Writes the code of a number's bit width and the zeros before it, then the number's bits.
    mutating func writeNumber(_ number: Int, run: Int, _ codes: [UInt8: Code]) {
        let width = Int.bitWidth - abs(number).leadingZeroBitCount
        write(codes[UInt8(run << 4 | width)])
        write((number < 0 ? number + (1 << width) - 1 : number, width))
    }

    /// Returns the bytes. The last one is padded with ones.
    func finished() -> [UInt8] {
        var filled = self
        if count > 0 { filled.write((1 << (8 - count) - 1, 8 - count)) }
        return filled.bytes
    }
}
