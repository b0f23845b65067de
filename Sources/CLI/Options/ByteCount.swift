import ArgumentParser

/// A size on the command line: `500`, `500kB`, `500MB` (10^6) or `500MiB` (2^20).
struct ByteCount: ExpressibleByArgument {
    let bytes: Int64

    var defaultValueDescription: String {
        bytes >= 1 << 20 && bytes % (1 << 20) == 0 ? "\(bytes >> 20)MiB" : "\(bytes)"
    }

    init(_ bytes: Int64) { self.bytes = bytes }

    init?(argument: String) {
        let units: [String: Int64] = [
            "": 1, "B": 1,
            "kB": 1_000, "KB": 1_000, "MB": 1_000_000, "GB": 1_000_000_000,
            "TB": 1_000_000_000_000,
            "KiB": 1 << 10, "MiB": 1 << 20, "GiB": 1 << 30, "TiB": 1 << 40,
        ]
        let digits = argument.prefix { $0.isASCII && $0.isNumber }
        guard let count = Int64(digits), let unit = units[String(argument.dropFirst(digits.count))]
        else { return nil }
        let (bytes, isTooLarge) = count.multipliedReportingOverflow(by: unit)
        guard !isTooLarge else { return nil }
        self.bytes = bytes
    }
}

extension ByteCount {
    /// - Throws: `ValidationError`, which says what is valid.
    static func parse(_ argument: String) throws -> ByteCount {
        if let count = ByteCount(argument: argument) { return count }
        throw ValidationError(
            "a size is a whole number and a unit, such as 500kB, 500MB (10^6) or 500MiB (2^20)")
    }

    /// So many bytes a second, with or without `/s` at the end.
    static func perSecond(_ argument: String) throws -> ByteCount {
        let count = try parse(argument.hasSuffix("/s") ? String(argument.dropLast(2)) : argument)
        guard count.bytes > 0 else { throw ValidationError("a bandwidth is at least 1B/s") }
        return count
    }

    /// The same if a forgotten unit would cost dear: only 0 needs none.
    static func withUnit(_ argument: String) throws -> ByteCount {
        let count = try parse(argument)
        guard count.bytes > 0, argument.allSatisfy(\.isNumber) else { return count }
        throw ValidationError(
            "needs a unit: \(argument)B, \(argument)kB, \(argument)MB or \(argument)MiB")
    }
}
