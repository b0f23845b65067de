/// An encoder for baseline JPEG (ITU-T T.81) with three components and no subsampling.
enum JPEGEncoder {
    static func encode(_ picture: Picture, note: String) -> [UInt8] {
        let size = UInt16(picture.size).bigEndianBytes
        var file: [UInt8] = [0xFF, 0xD8]
        file += segment(0xE0, Array("JFIF\0".utf8) + [1, 1, 0, 0, 1, 0, 1, 0, 0])
        if !note.isEmpty { file += segment(0xFE, Array(note.utf8)) }
        file += segment(0xDB, [0] + zigzag.map { UInt8(quantum(at: $0)) })
        file += segment(
            0xC0, [8] + size + size + [3, 1, 0x11, 0, 2, 0x11, 0, 3, 0x11, 0])
        file += segment(0xC4, [0x00] + dcTable.counts + dcTable.symbols)
        file += segment(0xC4, [0x10] + acTable.counts + acTable.symbols)
        file += segment(0xDA, [3, 1, 0, 2, 0, 3, 0, 0, 63, 0])
        return file + scan(picture) + [0xFF, 0xD9]
    }

    private static func segment(_ marker: UInt8, _ content: [UInt8]) -> [UInt8] {
        [0xFF, marker] + UInt16(content.count + 2).bigEndianBytes + content
    }

    /// Returns the quantisation step of a coefficient at index row * 8 + column. It grows with
    /// frequency.
    private static func quantum(at index: Int) -> Int { 4 + 2 * (index / 8 + index % 8) }

    private static func scan(_ picture: Picture) -> [UInt8] {
        var bits = EntropyWriter()
        let (dc, ac) = (dcTable.codes, acTable.codes)
        var previous = [0, 0, 0]
        for top in stride(from: 0, to: picture.size, by: 8) {
            for left in stride(from: 0, to: picture.size, by: 8) {
                for component in 0..<3 {
                    let samples = (0..<64).map { index in
                        let x = min(left + index % 8, picture.size - 1)
                        let y = min(top + index / 8, picture.size - 1)
                        return sample(picture.opaque(x, y), component)
                    }
                    let block = quantised(samples)
                    bits.writeNumber(block[0] - previous[component], run: 0, dc)
                    previous[component] = block[0]
                    writeDetail(block, ac, to: &bits)
                }
            }
        }
        return bits.finished()
    }

    private static func writeDetail(
        _ block: [Int], _ codes: [UInt8: EntropyWriter.Code], to bits: inout EntropyWriter
    ) {
        var run = 0
        for value in block.dropFirst() {
            if value == 0 {
                run += 1
                continue
            }
            while run > 15 {
                bits.write(codes[0xF0])
                run -= 16
            }
            bits.writeNumber(value, run: run, codes)
            run = 0
        }
        if run > 0 { bits.write(codes[0x00]) }
    }

    /// Returns luma or a colour difference, centred on zero (JFIF 1.02).
    private static func sample(_ colour: Colour, _ component: Int) -> Double {
        let (red, green, blue) = (Double(colour.red), Double(colour.green), Double(colour.blue))
        switch component {
        case 0: return 0.299 * red + 0.587 * green + 0.114 * blue - 128
        case 1: return -0.168736 * red - 0.331264 * green + 0.5 * blue
        default: return 0.5 * red - 0.418688 * green - 0.081312 * blue
        }
    }

    /// Returns the transformed and quantised block in zigzag order.
    private static func quantised(_ samples: [Double]) -> [Int] {
        var rows = [Double](repeating: 0, count: 64)
        for y in 0..<8 {
            for u in 0..<8 {
                for x in 0..<8 { rows[y * 8 + u] += samples[y * 8 + x] * basis(u, x) }
            }
        }
        var block = [Double](repeating: 0, count: 64)
        for v in 0..<8 {
            for u in 0..<8 {
                for y in 0..<8 { block[v * 8 + u] += rows[y * 8 + u] * basis(v, y) }
            }
        }
        return zigzag.map { Int((block[$0] / Double(quantum(at: $0))).rounded()) }
    }

    /// Returns cos((2x + 1)uπ / 16) / 2, or 1 / √8 for u = 0. The cosines are literals, because
    /// libraries can round differently.
    private static func basis(_ u: Int, _ x: Int) -> Double {
        guard u > 0 else { return 0.3535533905932738 }
        let angle = (2 * x + 1) * u % 32
        let folded = angle > 16 ? 32 - angle : angle
        let cosine = folded > 8 ? -cosines[16 - folded] : cosines[folded]
        return cosine / 2
    }

    private static let cosines = [
        1, 0.9807852804032304, 0.9238795325112867, 0.8314696123025452, 0.7071067811865476,
        0.5555702330196022, 0.3826834323650898, 0.19509032201612828, 0,
    ]

    private static let zigzag: [Int] = (0..<64).sorted { left, right in
        func key(_ index: Int) -> (Int, Int) {
            let (row, column) = (index / 8, index % 8)
            return (row + column, (row + column) % 2 == 0 ? column : row)
        }
        return key(left) < key(right)
    }

    /// A Huffman table as stored in a file: the number of codes of each length, and their symbols.
    private struct Table {
        let counts: [UInt8]
        let symbols: [UInt8]

        var codes: [UInt8: EntropyWriter.Code] {
            var codes: [UInt8: EntropyWriter.Code] = [:]
            var (code, index) = (0, 0)
            for (length, count) in counts.enumerated() {
                for _ in 0..<count {
                    codes[symbols[index]] = (code, length + 1)
                    code += 1
                    index += 1
                }
                code <<= 1
            }
            return codes
        }
    }

    private static let dcTable = Table(
        counts: [0, 1, 5, 1, 1, 1, 1, 1, 1, 0, 0, 0, 0, 0, 0, 0], symbols: Array(0...11))

    /// All symbols for a run of up to 15 zeros and a number of up to 10 bits. The end of a block
    /// has a code of 8 bits and all other symbols have codes of 9 bits. That is simple and short
    /// enough.
    private static let acTable = Table(
        counts: [0, 0, 0, 0, 0, 0, 0, 1, 161, 0, 0, 0, 0, 0, 0, 0],
        symbols: [0x00, 0xF0]
            + (0...15).flatMap { run in (1...10).map { UInt8(run << 4 | $0) } })
}
