import LarderCore

/// A writer of a copy of a binary plist with other strings. Objects keep their numbers. New strings
/// follow with higher numbers, and replaced strings that nothing else refers to become empty.
struct BinaryPlistWriter {
    private typealias Damage = BinaryPlist.Damage

    private static let header = Array("bplist00".utf8)
    private static let trailerSize = 32

    private let bytes: BinaryPlistBytes
    private let offsetSize: Int
    private let referenceSize: Int
    private let objectCount: Int
    private let root: Int
    private let offsetTable: Int

    init(_ bytes: BinaryPlistBytes) throws {
        let plist = try BinaryPlist(bytes)
        self.bytes = bytes
        (offsetSize, referenceSize) = (plist.offsetSize, plist.referenceSize)
        (objectCount, root) = (plist.objectCount, plist.root)
        offsetTable = plist.offsetTable
    }

    func write(
        replacing nextEdit: () throws -> CatalogueEdit?, to output: CatalogueOutput
    ) throws {
        var file = Output(output)
        try file.put(Self.header)
        var replaced = Replacements()
        var offsets: [Int] = []
        var numbers: [Int64: Int] = [:]
        while let edit = try nextEdit() {
            if numbers[edit.number] == nil {
                numbers[edit.number] = objectCount + offsets.count
                offsets.append(file.count)
                try file.putString(edit.text)
            }
            replaced.add(edit.span.lowerBound, numbers[edit.number, default: root])
        }
        let width = max(referenceSize, Self.width(of: objectCount + offsets.count))
        let places = try (0..<objectCount).map(place)
        let isUsed = try used(places, replaced)
        // Several objects of a damaged file can overlap, and would multiply its size.
        let limit = 16 * bytes.count + 1 << 20
        var moved = [Int](repeating: 0, count: objectCount)
        var last: (place: Int, new: Int, isUsed: Bool)?
        for object in (0..<objectCount).sorted(by: { places[$0] < places[$1] }) {
            if let last, last.place == places[object], last.isUsed == isUsed[object] {
                moved[object] = last.new
                continue
            }
            moved[object] = file.count
            last = (places[object], file.count, isUsed[object])
            try put(places[object], isUsed[object], replaced, width, &file)
            guard file.count <= limit else {
                throw Damage(code: .tooLarge, reason: "objects of the binary plist overlap")
            }
        }
        let table = file.count
        let offsetWidth = Self.width(of: table)
        for offset in moved + offsets { try file.put(offset, width: offsetWidth) }
        try file.put([0, 0, 0, 0, 0, 0, UInt8(offsetWidth), UInt8(width)])
        try file.put(objectCount + offsets.count, width: 8)
        try file.put(root, width: 8)
        try file.put(table, width: 8)
        try file.flush()
    }

    /// The new numbers of references, by place.
    private struct Replacements {
        private var places: [Int] = []
        private var objects: [Int] = []

        mutating func add(_ place: Int, _ object: Int) {
            places.append(place)
            objects.append(object)
        }

        /// Returns the new object of the reference at `place`, or nil. The places are sorted.
        subscript(place: Int) -> Int? {
            var (low, high) = (0, places.count)
            while low < high {
                let middle = (low + high) / 2
                if places[middle] < place { low = middle + 1 } else { high = middle }
            }
            return low < places.count && places[low] == place ? objects[low] : nil
        }
    }

    private struct Object {
        /// The part that is copied: all of a scalar, or the head of a collection.
        let copied: Range<Int>
        var references = 0
        var isString = false
    }

    private func place(of object: Int) throws -> Int {
        let stored = try bytes.unsigned(at: offsetTable + object * offsetSize, width: offsetSize)
        guard stored >= UInt64(Self.header.count), stored < UInt64(offsetTable) else {
            throw Damage(reason: "object \(object) is outside the file")
        }
        return Int(stored)
    }

    private func object(at place: Int) throws -> Object {
        let marker = try bytes.run(at: place, count: 1)[0]
        let low = Int(marker & 0x0F)
        var (head, count) = (1, low)
        if [0x4, 0x5, 0x6, 0xA, 0xC, 0xD].contains(marker >> 4), low == 0xF {
            let kind = try bytes.run(at: place + 1, count: 1)[0]
            guard kind & 0xF0 == 0x10, kind & 0x0F <= 3 else {
                throw Damage(reason: "an object has no valid count")
            }
            let size = 1 << Int(kind & 0x0F)
            let stored = try bytes.unsigned(at: place + 2, width: size)
            guard stored <= UInt64(bytes.count) else {
                throw Damage(reason: "an object extends past the end of the objects")
            }
            (head, count) = (2 + size, Int(stored))
        }
        let size =
            switch marker >> 4 {
            case 0x1, 0x2: low <= 4 ? 1 + 1 << low : 1
            case 0x3: 9
            case 0x4, 0x5: head + count
            case 0x6: head + 2 * count
            case 0x8: 2 + low
            case 0xA, 0xC, 0xD: head
            default: 1
            }
        let references =
            switch marker >> 4 {
            case 0xA, 0xC: count
            case 0xD: 2 * count
            default: 0
            }
        guard place + size + references * referenceSize <= offsetTable else {
            throw Damage(reason: "an object extends past the end of the objects")
        }
        return Object(
            copied: place..<place + size, references: references,
            isString: [0x5, 0x6].contains(marker >> 4))
    }

    private func reference(at place: Int, _ replaced: Replacements) throws -> Int {
        if let new = replaced[place] { return new }
        let old = try bytes.unsigned(at: place, width: referenceSize)
        guard old < UInt64(objectCount) else {
            throw Damage(reason: "object \(old) is missing: the file has \(objectCount) objects")
        }
        return Int(old)
    }

    private func used(_ places: [Int], _ replaced: Replacements) throws -> [Bool] {
        var isUsed = [Bool](repeating: false, count: objectCount)
        isUsed[root] = true
        for place in places {
            let object = try object(at: place)
            for index in 0..<object.references {
                let place = object.copied.upperBound + index * referenceSize
                let number = try reference(at: place, replaced)
                if number < objectCount { isUsed[number] = true }
            }
        }
        return isUsed
    }

    private func put(
        _ place: Int, _ isUsed: Bool, _ replaced: Replacements, _ width: Int,
        _ file: inout Output
    ) throws {
        let object = try object(at: place)
        if object.isString, !isUsed { return try file.put([0x50]) }
        var start = object.copied.lowerBound
        while start < object.copied.upperBound {
            let end = min(start + 64 << 10, object.copied.upperBound)
            let part = try bytes.run(at: start, count: end - start)
            try file.put(part)
            // The characters of UTF-16 that matter are ASCII.
            if object.isString { Array(part).filter { $0 != 0 }.withUnsafeBytes(file.images.add) }
            start = end
        }
        file.images.finish()
        for index in 0..<object.references {
            let place = object.copied.upperBound + index * referenceSize
            try file.put(reference(at: place, replaced), width: width)
        }
    }

    /// The number of bytes for a number: 1, 2, 4 or 8.
    private static func width(of number: Int) -> Int {
        [1, 2, 4].first { number < 1 << (8 * $0) } ?? 8
    }

    private struct Output {
        private(set) var count = 0
        private var buffer: [UInt8] = []
        private let output: CatalogueOutput
        var images: RemoteImages { output.images }

        init(_ output: CatalogueOutput) { self.output = output }

        mutating func put(_ bytes: some Collection<UInt8>) throws {
            buffer += bytes
            count += bytes.count
            if buffer.count >= 64 << 10 { try flush() }
        }

        mutating func put(_ number: Int, width: Int) throws {
            try put((0..<width).reversed().map { UInt8(truncatingIfNeeded: number >> (8 * $0)) })
        }

        mutating func putString(_ text: String) throws {
            let count = text.utf8.count
            if count < 15 {
                try put([0x50 | UInt8(count)])
            } else {
                let width = BinaryPlistWriter.width(of: count)
                try put([0x5F, 0x10 | UInt8(width.trailingZeroBitCount)])
                try put(count, width: width)
            }
            try put(text.utf8)
        }

        mutating func flush() throws {
            try buffer.withUnsafeBytes { try output.writeBinary($0) }
            buffer.removeAll(keepingCapacity: true)
        }
    }
}
