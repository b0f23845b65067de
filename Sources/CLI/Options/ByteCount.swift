import ArgumentParser

/// A size on the command line: `500`, `500kB`, `1.5G`, `500MB` (10^6) or `500MiB` (2^20).
struct ByteCount {
    let bytes: Int64

    init(_ bytes: Int64) { self.bytes = bytes }

    private init?(_ argument: Substring) {
        var rest = argument
        guard let quantity = Quantity(takenFrom: &rest), rest.isEmpty,
            let size = Self.size(of: quantity.unit),
            // There is no half of a byte: a unit was forgotten.
            size > 1 || !quantity.hasFraction,
            let bytes = quantity.counted(in: size)
        else { return nil }
        self.bytes = bytes
    }

    /// How many bytes a unit is, in either case. `Mb` is none: to many, it is a megabit.
    private static func size(of unit: Substring) -> Int64? {
        let isOfBits = unit.count == 2 && unit.last == "b" && unit.first?.isUppercase == true
        guard !isOfBits else { return nil }
        let unit = unit.lowercased()
        guard unit != "", unit != "b" else { return 1 }
        guard let power = Array("kmgt").firstIndex(where: { $0 == unit.first }) else { return nil }
        let step: Int64
        switch unit.dropFirst() {
        case "", "b": step = 1000
        case "ib": step = 1024
        default: return nil
        }
        return (0...power).reduce(1) { size, _ in size * step }
    }
}

extension ByteCount {
    private static let form = """
        a number of bytes, or a number with k, M, G or T, such as 500k, 1.5G, 500MB (10^6) or \
        500MiB (2^20)
        """

    /// - Throws: `ValidationError`, which says what is valid.
    static func parse(_ argument: String) throws -> ByteCount {
        if let count = ByteCount(argument[...]) { return count }
        throw ValidationError("a size is \(form)")
    }

    /// So many bytes a second, with or without `/s` at the end.
    static func perSecond(_ argument: String) throws -> ByteCount {
        let size = argument.hasSuffix("/s") ? argument.dropLast(2) : argument[...]
        if let count = ByteCount(size), count.bytes > 0 { return count }
        throw ValidationError("a rate per second is more than 0: \(form)")
    }
}
