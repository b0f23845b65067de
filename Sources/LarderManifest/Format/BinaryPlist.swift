/// A binary property list, in the format of Core Foundation's `CFBinaryPList.c`:
///
///     "bplist00" | objects … | offset table: an offset for each object | trailer, 32 bytes
///
/// The trailer's last 26 bytes are big-endian: offset size (1), reference size (1), number of
/// objects (8), root object (8), offset of the offset table (8).
final class BinaryPlist {
    let root: Int
    var position: Int?
    let bytes: BinaryPlistBytes
    let objectCount: Int
    let referenceSize: Int
    private let offsetSize: Int
    private let offsetTable: Int
    /// The number of remaining lookups, limited because shared objects can expand without bound.
    private var lookupsLeft: Int

    typealias Element = (reference: Int, span: SourceSpan)

    enum Object {
        case scalar(ManifestValue, end: Int)
        case string(References, isUTF16: Bool)
        case array(References)
        case dictionary(keys: References, values: References)
    }

    struct References {
        let offset: Int
        let count: Int
    }

    static let header = Array("bplist00".utf8)
    private static let trailerSize = 32

    init(_ bytes: BinaryPlistBytes) throws {
        func error(_ problem: String) -> ManifestError {
            ManifestError(.malformed, source: bytes.input.name, "the binary plist \(problem)")
        }
        guard bytes.count >= Self.header.count + Self.trailerSize
        else { throw error("is truncated") }
        guard try bytes.run(at: 0, count: Self.header.count).elementsEqual(Self.header)
        else { throw error("has an unknown version") }
        let trailer = bytes.count - Self.trailerSize
        offsetSize = Int(try bytes.unsigned(at: trailer + 6, width: 1))
        referenceSize = Int(try bytes.unsigned(at: trailer + 7, width: 1))
        let objectCount = try bytes.unsigned(at: trailer + 8, width: 8)
        let root = try bytes.unsigned(at: trailer + 16, width: 8)
        let offsetTable = try bytes.unsigned(at: trailer + 24, width: 8)
        // The comparison with the trailer prevents an overflow.
        guard (1...8).contains(offsetSize), (1...8).contains(referenceSize),
            offsetTable >= UInt64(Self.header.count), offsetTable <= UInt64(trailer),
            objectCount <= (UInt64(trailer) - offsetTable) / UInt64(offsetSize), root < objectCount
        else { throw error("is truncated or damaged: invalid trailer") }
        self.bytes = bytes
        self.objectCount = Int(objectCount)
        self.root = Int(root)
        self.offsetTable = Int(offsetTable)
        // A value is looked up two or three times. The constant is for oversized entries.
        lookupsLeft = 4 * (bytes.count / referenceSize) + 1 << 18
    }

    func object(_ reference: Int) throws -> Object {
        lookupsLeft -= 1
        guard lookupsLeft >= 0 else {
            throw error(
                "shared objects expand to too many values for a file of this size", .tooLarge)
        }
        let offset = try offset(of: reference)
        let marker = try bytes.unsigned(at: offset, width: 1)
        let low = Int(marker & 0x0F)
        func scalar(_ value: ManifestValue, size: Int = 0) throws -> Object {
            let end = offset + 1 + size
            guard end <= offsetTable else { throw pastEnd(reference) }
            return .scalar(value, end: end)
        }
        switch (marker >> 4, low) {
        case (0x0, 0x0): return try scalar(.null)
        case (0x0, 0x8): return try scalar(.bool(false))
        case (0x0, 0x9): return try scalar(.bool(true))
        // Reads before the check stay in the file, because the trailer is longer than any number.
        case (0x1, 0...4):
            return try scalar(integer(at: offset + 1, size: 1 << low), size: 1 << low)
        case (0x2, 2...3):
            let bits = try bytes.unsigned(at: offset + 1, width: 1 << low)
            let single = Double(Float(bitPattern: UInt32(truncatingIfNeeded: bits)))
            return try scalar(.double(low == 3 ? Double(bitPattern: bits) : single), size: 1 << low)
        case (0x3, 0x3): return try scalar(.opaque("a date"), size: 8)
        case (0x4, _):
            let run = try run(reference, at: offset, low: low, unit: 1)
            return .scalar(.opaque("data"), end: run.offset + run.count)
        case (0x5, _):
            return .string(try run(reference, at: offset, low: low, unit: 1), isUTF16: false)
        case (0x6, _):
            let run = try run(reference, at: offset, low: low, unit: 2)
            return .string(References(offset: run.offset, count: run.count * 2), isUTF16: true)
        case (0x8, _): return try scalar(.opaque("a UID"), size: low + 1)
        case (0xA, _), (0xC, _):
            return .array(try run(reference, at: offset, low: low, unit: referenceSize))
        case (0xD, _):
            let run = try run(reference, at: offset, low: low, unit: 2 * referenceSize)
            let values = run.offset + run.count * referenceSize
            return .dictionary(keys: run, values: References(offset: values, count: run.count))
        default: return try scalar(.opaque("a value of an unknown type"))
        }
    }

    func offset(of reference: Int) throws -> Int {
        let entry = offsetTable + reference * offsetSize
        let stored = try bytes.unsigned(at: entry, width: offsetSize)
        guard stored >= UInt64(Self.header.count), stored < UInt64(offsetTable)
        else { throw error("object \(reference) is outside the file") }
        return Int(stored)
    }

    func element(_ index: Int, of references: References) throws -> Element {
        let offset = references.offset + index * referenceSize
        let reference = try bytes.unsigned(at: offset, width: referenceSize)
        guard reference < UInt64(objectCount)
        else { throw error("object \(reference) is missing: the file has \(objectCount) objects") }
        return (Int(reference), SourceSpan(offset..<offset + referenceSize))
    }

    /// Replaces non-ASCII bytes in an ASCII string, and unpaired surrogates in UTF-16, with U+FFFD.
    func string(_ text: References, isUTF16: Bool) throws -> (text: String, isValid: Bool) {
        let run = try bytes.run(at: text.offset, count: text.count)
        if isUTF16 { return run.withUnsafeBytes { String.decoding(utf16: $0, isBigEndian: true) } }
        let isValid = run.allSatisfy { $0 < 0x80 }
        let ascii = isValid ? run : run.map { min($0, 0x80) }[...]
        return (String(decoding: ascii, as: UTF8.self), isValid)
    }

    /// Reads integers of 1, 2 and 4 bytes as unsigned, and larger ones as signed.
    private func integer(at offset: Int, size: Int) throws -> ManifestValue {
        let run = try bytes.run(at: offset, count: size)
        let value = run.reduce(0 as Int128) { $0 << 8 | Int128($1) }
        if size < 16 { return .integer(Int(truncatingIfNeeded: value)) }
        return Int(exactly: value).map { .integer($0) } ?? .double(Double(value))
    }

    private func run(_ reference: Int, at marker: Int, low: Int, unit: Int) throws -> References {
        var offset = marker + 1
        var count = UInt64(low)
        if low == 0xF {
            let kind = try bytes.unsigned(at: offset, width: 1)
            guard kind & 0xF0 == 0x10, kind & 0x0F <= 3
            else { throw error("object \(reference) has no valid count") }
            let size = 1 << Int(kind & 0x0F)
            count = try bytes.unsigned(at: offset + 1, width: size)
            offset += 1 + size
        }
        let room = offsetTable - offset
        guard room >= 0, count <= UInt64(room / unit) else { throw pastEnd(reference) }
        return References(offset: offset, count: Int(count))
    }

    private func pastEnd(_ reference: Int) -> ManifestError {
        error("object \(reference) extends past the end of the objects")
    }

    func error(_ reason: String, _ code: ManifestError.Code = .malformed) -> ManifestError {
        ManifestError(code, source: bytes.input.name, at: position.map { .entry($0) }, reason)
    }
}

/// The bytes of a binary plist, with random access in bounded memory. Files are not mapped, because
/// mapped pages count as this process's memory, and truncation by another process would crash it.
final class BinaryPlistBytes {
    let count: Int
    let input: ByteInput
    /// The block in each slot. Its number is -1 if the slot is empty.
    private var blocks: [(number: Int, bytes: [UInt8])] = Array(repeating: (-1, []), count: 256)

    private static let blockSize = 4 << 10

    init(_ window: ByteWindow, limits: ManifestLimits) throws {
        if let size = window.input.seekableSize {
            input = window.input
            count = size
        } else {
            (input, count) = try window.saved(limit: Int64(limits.maximumPipedSize))
        }
    }

    /// Returns bytes of the file. The range must be within the file.
    func run(at offset: Int, count: Int) throws -> ArraySlice<UInt8> {
        let number = offset / Self.blockSize
        let start = offset % Self.blockSize
        guard start + count <= Self.blockSize else { return try read(count, at: offset)[...] }
        let slot = number % blocks.count
        if blocks[slot].number != number {
            let offset = number * Self.blockSize
            let bytes = try read(min(Self.blockSize, self.count - offset), at: offset)
            blocks[slot] = (number, bytes)
        }
        return blocks[slot].bytes[start..<start + count]
    }

    func unsigned(at offset: Int, width: Int) throws -> UInt64 {
        try run(at: offset, count: width).reduce(0) { $0 << 8 | UInt64($1) }
    }

    private func read(_ count: Int, at offset: Int) throws -> [UInt8] {
        try [UInt8](unsafeUninitializedCapacity: count) { buffer, filled in
            let bytes = UnsafeMutableRawBufferPointer(buffer)
            while filled < count {
                let rest = UnsafeMutableRawBufferPointer(rebasing: bytes[filled..<count])
                let got = try input.read(into: rest, at: offset + filled)
                guard got > 0 else {
                    throw ManifestError(
                        .malformed, source: input.name, "the file was truncated while it was read")
                }
                filled += got
            }
        }
    }
}
