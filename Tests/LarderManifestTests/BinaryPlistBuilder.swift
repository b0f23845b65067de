/// A builder of binary property lists, valid or damaged. References take one byte.
struct BinaryPlistBuilder {
    var objects: [[UInt8]] = []
    var root = 0
    /// Wrong offsets to write, by object number.
    var falseOffsets: [Int: Int] = [:]

    mutating func add(_ object: [UInt8]) -> UInt8 {
        objects.append(object)
        return UInt8(objects.count - 1)
    }

    mutating func add(_ text: String) -> UInt8 {
        add([0x5F, 0x10, UInt8(text.utf8.count)] + Array(text.utf8))
    }

    /// Adds an array of up to 255 objects.
    mutating func add(array references: [UInt8]) -> UInt8 {
        add([0xAF, 0x10, UInt8(references.count)] + references)
    }

    /// Adds an array that contains the same object `count` times.
    mutating func add(arrayOf reference: UInt8, count: Int) -> UInt8 {
        let references = [UInt8](repeating: reference, count: count)
        return add([0xAF, 0x11] + Self.bigEndian(count, 2) + references)
    }

    mutating func add(dictionary members: [(UInt8, UInt8)]) -> UInt8 {
        add([0xD0 | UInt8(members.count)] + members.map(\.0) + members.map(\.1))
    }

    /// Adds an entry with an icon.
    mutating func add(icon: String) -> UInt8 {
        let key = add("icon")
        let value = add(icon)
        return add(dictionary: [(key, value)])
    }

    var bytes: [UInt8] {
        var bytes = Array("bplist00".utf8)
        var offsets: [Int] = []
        for object in objects {
            offsets.append(bytes.count)
            bytes += object
        }
        let table = bytes.count
        for (index, offset) in offsets.enumerated() {
            bytes += Self.bigEndian(falseOffsets[index] ?? offset, 4)
        }
        bytes += [0, 0, 0, 0, 0, 0, 4, 1]
        for number in [objects.count, root, table] { bytes += Self.bigEndian(number, 8) }
        return bytes
    }

    static func bigEndian(_ number: Int, _ width: Int) -> [UInt8] {
        (0..<width).reversed().map { UInt8(truncatingIfNeeded: number >> ($0 * 8)) }
    }
}
