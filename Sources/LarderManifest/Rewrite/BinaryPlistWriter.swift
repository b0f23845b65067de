import LarderCore

/// A writer that copies a binary plist and replaces strings. Objects keep their numbers, and new
/// strings get the next numbers. A replaced string becomes empty if nothing else refers to it.
struct BinaryPlistWriter {
    private let plist: BinaryPlist
    private let images: ImageURLCounter
    private let output: (UnsafeRawBufferPointer) throws -> Void
    private var buffer: [UInt8] = []
    private var count = 0
    /// The new object of each replaced reference, keyed by the reference's place.
    private var replaced: [Int: Int] = [:]

    init(
        _ bytes: BinaryPlistBytes, counting images: ImageURLCounter,
        _ output: @escaping (UnsafeRawBufferPointer) throws -> Void
    ) throws {
        plist = try BinaryPlist(bytes)
        self.images = images
        self.output = output
    }

    mutating func write(replacing nextEdit: () throws -> CatalogueEdit?) throws {
        try put(BinaryPlist.header)
        var newOffsets: [Int] = []
        var numbers: [Int64: Int] = [:]
        while let edit = try nextEdit() {
            let number = numbers[edit.number] ?? plist.objectCount + newOffsets.count
            if numbers.updateValue(number, forKey: edit.number) == nil {
                newOffsets.append(count)
                try putString(edit.text)
            }
            replaced[edit.span.lowerBound] = number
        }
        let objectCount = plist.objectCount + newOffsets.count
        let width = max(plist.referenceSize, Self.width(of: objectCount))
        let isUsed = try used()
        // Objects of a damaged file can overlap, and a copy can be many times as large as the file.
        let limit = 16 * plist.bytes.count + count + 1 << 20
        var offsets: [Int] = []
        for object in 0..<plist.objectCount {
            offsets.append(count)
            try copy(object, isUsed: isUsed[object], width)
            guard count <= limit
            else { throw plist.error("objects of the binary plist overlap", .tooLarge) }
        }
        let table = count
        let offsetWidth = Self.width(of: table)
        for offset in offsets + newOffsets { try put(offset, width: offsetWidth) }
        try put([0, 0, 0, 0, 0, 0, UInt8(offsetWidth), UInt8(width)])
        for number in [objectCount, plist.root, table] { try put(number, width: 8) }
        try flush()
    }

    private func extent(
        _ object: Int
    ) throws -> (references: BinaryPlist.References, textStart: Int?) {
        switch try plist.object(object) {
        case .scalar(_, let end): (.init(offset: end, count: 0), nil)
        case .string(let text, _): (.init(offset: text.offset + text.count, count: 0), text.offset)
        case .array(let elements): (elements, nil)
        case .dictionary(let keys, _): (.init(offset: keys.offset, count: 2 * keys.count), nil)
        }
    }

    private func reference(_ index: Int, of references: BinaryPlist.References) throws -> Int {
        let place = references.offset + index * plist.referenceSize
        return try replaced[place] ?? plist.element(index, of: references).reference
    }

    private func used() throws -> [Bool] {
        var isUsed = [Bool](repeating: false, count: plist.objectCount)
        isUsed[plist.root] = true
        for object in isUsed.indices {
            let references = try extent(object).references
            for index in 0..<references.count {
                let number = try reference(index, of: references)
                if number < plist.objectCount { isUsed[number] = true }
            }
        }
        return isUsed
    }

    private mutating func copy(_ object: Int, isUsed: Bool, _ width: Int) throws {
        let (references, textStart) = try extent(object)
        if textStart != nil, !isUsed { return try put([0x50]) }
        var start = try plist.offset(of: object)
        while start < references.offset {
            // The bytes before the text are copied separately, because they can look like letters.
            let end = if let textStart, start < textStart { textStart } else { references.offset }
            let part = try plist.bytes.run(at: start, count: min(64 << 10, end - start))
            // Without the zeros, URLs are also found in UTF-16.
            if let textStart, start >= textStart {
                part.filter { $0 != 0 }.withUnsafeBytes(images.add)
            }
            start += part.count
            try put(part)
        }
        images.finish()
        for index in 0..<references.count {
            try put(reference(index, of: references), width: width)
        }
    }

    private mutating func putString(_ text: String) throws {
        let count = text.utf8.count
        let width = Self.width(of: count)
        try put([0x5F, 0x10 | UInt8(width.trailingZeroBitCount)])
        try put(count, width: width)
        try put(text.utf8)
    }

    private mutating func put(_ bytes: some Collection<UInt8>) throws {
        buffer += bytes
        count += bytes.count
        if buffer.count >= 64 << 10 { try flush() }
    }

    private mutating func put(_ number: Int, width: Int) throws {
        try put((0..<width).reversed().map { UInt8(truncatingIfNeeded: number >> (8 * $0)) })
    }

    private mutating func flush() throws {
        try buffer.withUnsafeBytes(output)
        buffer.removeAll(keepingCapacity: true)
    }

    private static func width(of number: Int) -> Int {
        [1, 2, 4].first { number < 1 << (8 * $0) } ?? 8
    }
}
