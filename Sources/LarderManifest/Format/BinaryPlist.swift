/// The objects of a binary property list (`bplist00`), each read when it is asked for.
///
///     "bplist00" | objects … | offset table: an offset for each object | trailer, 32 bytes
///
/// The trailer's last 26 bytes: offset size (1), reference size (1), number of objects (8), root
/// object (8), offset of the offset table (8), big-endian. The format is defined by Core
/// Foundation's `CFBinaryPList.c`. Nothing in the file is believed: every offset, count and
/// reference is checked where it is used.
struct BinaryPlist {
    let root: Int
    var size: Int { bytes.count }
    private let bytes: BinaryPlistBytes
    private let objectCount: Int
    private let offsetSize: Int
    private let referenceSize: Int
    private let offsetTable: Int
    private let budget: Budget

    struct Damage: Error {
        var code = ManifestError.Code.malformed
        let reason: String
    }

    /// The number of objects that may still be looked up: shared ones can unfold to any number.
    private final class Budget {
        var left: Int

        init(_ left: Int) { self.left = left }
    }

    enum Object {
        /// With the bytes that it takes.
        case scalar(ManifestValue, size: Int)
        /// With the size in bytes in place of the count.
        case string(References, isUTF16: Bool)
        case array(References)
        case dictionary(keys: References, values: References)
    }

    struct References {
        fileprivate let offset: Int
        let count: Int
    }

    private static let header = Array("bplist00".utf8)
    private static let trailerSize = 32

    init(_ bytes: BinaryPlistBytes) throws {
        guard bytes.count >= Self.header.count + Self.trailerSize else {
            throw Damage(reason: "the binary plist is too short to be whole")
        }
        guard try bytes.run(at: 0, count: Self.header.count).elementsEqual(Self.header) else {
            throw Damage(reason: "a binary plist of an unknown version")
        }
        let trailer = bytes.count - Self.trailerSize
        offsetSize = Int(try bytes.unsigned(at: trailer + 6, width: 1))
        referenceSize = Int(try bytes.unsigned(at: trailer + 7, width: 1))
        let objectCount = try bytes.unsigned(at: trailer + 8, width: 8)
        let root = try bytes.unsigned(at: trailer + 16, width: 8)
        let offsetTable = try bytes.unsigned(at: trailer + 24, width: 8)
        // The first comparison keeps the second one from overflowing.
        guard (1...8).contains(offsetSize), (1...8).contains(referenceSize),
            offsetTable >= UInt64(Self.header.count), offsetTable <= UInt64(trailer),
            objectCount <= (UInt64(trailer) - offsetTable) / UInt64(offsetSize), root < objectCount
        else {
            throw Damage(reason: "the binary plist is cut off or damaged: its trailer is wrong")
        }
        self.bytes = bytes
        self.objectCount = Int(objectCount)
        self.root = Int(root)
        self.offsetTable = Int(offsetTable)
        // A value is looked up two or three times, and an entry that is too large costs no other.
        budget = Budget(4 * (bytes.count / referenceSize) + 1 << 18)
    }

    func object(_ reference: Int) throws -> Object {
        budget.left -= 1
        guard budget.left >= 0 else {
            throw Damage(
                code: .tooLarge,
                reason: "shared objects unfold to more values than a file of its length has")
        }
        let entry = offsetTable + reference * offsetSize
        let stored = try bytes.unsigned(at: entry, width: offsetSize)
        guard stored >= UInt64(Self.header.count), stored < UInt64(offsetTable) else {
            throw Damage(reason: "object \(reference) lies outside of the file")
        }
        let offset = Int(stored)
        let marker = try bytes.run(at: offset, count: 1)[0]
        let low = Int(marker & 0x0F)
        switch (marker >> 4, low) {
        case (0x0, 0x0): return .scalar(.null, size: 1)
        case (0x0, 0x8): return .scalar(.bool(false), size: 1)
        case (0x0, 0x9): return .scalar(.bool(true), size: 1)
        case (0x1, 0...4):
            let size = try checked(reference, at: offset + 1, count: 1 << low)
            return .scalar(try integer(at: offset + 1, size: size), size: size)
        case (0x2, 2...3):
            let size = try checked(reference, at: offset + 1, count: 1 << low)
            let bits = try bytes.unsigned(at: offset + 1, width: size)
            let double =
                size == 8
                ? Double(bitPattern: bits)
                : Double(Float(bitPattern: UInt32(truncatingIfNeeded: bits)))
            return .scalar(.double(double), size: size)
        case (0x3, 0x3):
            return .scalar(
                .opaque("a date"), size: try checked(reference, at: offset + 1, count: 8))
        case (0x4, _):
            let size = try run(reference, at: offset, low: low, unit: 1).count
            return .scalar(.opaque("data"), size: size)
        case (0x5, _):
            let run = try run(reference, at: offset, low: low, unit: 1)
            return .string(run, isUTF16: false)
        case (0x6, _):
            let run = try run(reference, at: offset, low: low, unit: 2)
            return .string(References(offset: run.offset, count: run.count * 2), isUTF16: true)
        case (0x8, _):
            return .scalar(
                .opaque("a UID"), size: try checked(reference, at: offset + 1, count: low + 1))
        case (0xA, _):
            return .array(try run(reference, at: offset, low: low, unit: referenceSize))
        case (0xD, _):
            let run = try run(reference, at: offset, low: low, unit: 2 * referenceSize)
            let values = References(
                offset: run.offset + run.count * referenceSize, count: run.count)
            return .dictionary(keys: run, values: values)
        default: return .scalar(.opaque("a value of an unknown type"), size: 1)
        }
    }

    func reference(_ index: Int, of references: References) throws -> Int {
        let offset = references.offset + index * referenceSize
        let reference = try bytes.unsigned(at: offset, width: referenceSize)
        guard reference < UInt64(objectCount) else {
            throw Damage(reason: "a reference to object \(reference) of \(objectCount)")
        }
        return Int(reference)
    }

    /// The text, with U+FFFD for what is not valid: bytes beyond ASCII in an ASCII string, and
    /// surrogates without a partner in a UTF-16 string.
    func string(_ text: References, isUTF16: Bool) throws -> (text: String, isValid: Bool) {
        let run = try bytes.run(at: text.offset, count: text.count)
        if isUTF16 { return String.decoding(utf16: run, isBigEndian: true) }
        guard run.allSatisfy({ $0 < 0x80 }) else {
            return (String(decoding: run.map { $0 < 0x80 ? $0 : 0xFF }, as: UTF8.self), false)
        }
        return (String(decoding: run, as: UTF8.self), true)
    }

    /// One, two and four bytes are unsigned, eight are signed; sixteen hold what is beyond them.
    private func integer(at offset: Int, size: Int) throws -> ManifestValue {
        guard size == 16 else {
            let bits = try bytes.unsigned(at: offset, width: size)
            return .integer(Int(truncatingIfNeeded: bits))
        }
        let high = try bytes.unsigned(at: offset, width: 8)
        let low = try bytes.unsigned(at: offset + 8, width: 8)
        let value = Int128(truncatingIfNeeded: high) << 64 | Int128(low)
        return Int(exactly: value).map { .integer($0) } ?? .double(Double(value))
    }

    /// The units of an object with a count: in its marker, or in an integer behind it.
    private func run(_ reference: Int, at marker: Int, low: Int, unit: Int) throws -> References {
        var offset = marker + 1
        var count = UInt64(low)
        if low == 0xF {
            _ = try checked(reference, at: offset, count: 1)
            let kind = try bytes.run(at: offset, count: 1)[0]
            guard kind & 0xF0 == 0x10, kind & 0x0F <= 3 else {
                throw Damage(reason: "object \(reference) has no count")
            }
            let size = 1 << Int(kind & 0x0F)
            _ = try checked(reference, at: offset + 1, count: size)
            count = try bytes.unsigned(at: offset + 1, width: size)
            offset += 1 + size
        }
        guard count <= UInt64(max(0, offsetTable - offset) / unit) else {
            throw Damage(reason: "object \(reference) reaches beyond the objects")
        }
        return References(offset: offset, count: Int(count))
    }

    /// The count, if that many bytes lie within the part of the file that has objects.
    private func checked(_ reference: Int, at offset: Int, count: Int) throws -> Int {
        guard offset + count <= offsetTable else {
            throw Damage(reason: "object \(reference) reaches beyond the objects")
        }
        return count
    }
}

/// A binary plist's bytes at any offset, in bounded memory: a file is read in blocks, and a pipe is
/// copied into a file first. Mapped memory would count as this process's, and would end it if
/// another process truncated the file.
final class BinaryPlistBytes {
    let count: Int
    private let input: ByteInput
    private let blocks: UnsafeMutableRawBufferPointer
    /// The number of the block in each place of `blocks`; -1 for none.
    private let held: UnsafeMutablePointer<Int>
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
