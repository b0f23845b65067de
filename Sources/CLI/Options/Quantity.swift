import ArgumentParser

/// A decimal number and its unit, from which all options read sizes, times and rates.
struct Quantity {
    /// The number times 10 to the power of `decimals`.
    private let digits: Int64
    private let decimals: Int
    /// The letters behind the number, as typed.
    let unit: Substring

    /// Takes a quantity off the beginning of a text; nil if no number in ASCII digits is there, or
    /// one of more than 18.
    init?(takenFrom text: inout Substring) {
        func take(_ isWanted: (Character) -> Bool) -> Substring {
            let taken = text.prefix(while: isWanted)
            text = text[taken.endIndex...]
            return taken
        }
        func isDigit(_ character: Character) -> Bool { character.isASCII && character.isNumber }
        let whole = take(isDigit)
        var fraction: Substring = ""
        if text.first == "." {
            text.removeFirst()
            fraction = take(isDigit)
            guard !fraction.isEmpty else { return nil }
        }
        guard let digits = Int64(whole + fraction) else { return nil }
        self.digits = digits
        decimals = fraction.count
        unit = take { !isDigit($0) && $0 != "." }
    }

    /// The quantity if a unit is that many of what is counted, rounded down; nil if that is too
    /// large, or nothing is left of it.
    func counted(in size: Int64) -> Int64? {
        let divisor = (0..<decimals).reduce(Int128(1)) { power, _ in power * 10 }
        let product = Int128(digits) * Int128(size)
        let count = product / divisor
        guard count > 0 || digits == 0 else { return nil }
        return Int64(exactly: count)
    }

    /// The number itself.
    var number: Double { Double("\(digits)e-\(decimals)") ?? 0 }

    /// Whether it has a fraction, if only of zeros.
    var hasFraction: Bool { decimals > 0 }
}

extension Quantity {
    /// A bare number, with or without `unit` at the end.
    ///
    /// - Throws: `ValidationError`, which says what is valid.
    static func number(_ argument: String, unit: String) throws -> Double {
        var rest = argument[...]
        if let quantity = Quantity(takenFrom: &rest), rest.isEmpty,
            quantity.unit.isEmpty || quantity.unit == unit
        {
            return quantity.number
        }
        throw ValidationError("it is a number, such as 5, 0.5 or 5\(unit)")
    }
}

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

/// A duration on the command line: `90`, `90s`, `1.5h`, `30d` or `1h30m`; a bare number counts
/// seconds.
struct TimeSpan {
    let duration: Duration

    init(seconds: Int64) { duration = .seconds(seconds) }

    /// A sum of quantities in units that get shorter, or one number.
    private init?(_ argument: String) {
        var rest = argument[...]
        var shortest = Int64.max
        var sum: Int64 = 0
        repeat {
            guard let quantity = Quantity(takenFrom: &rest),
                let length = Self.microseconds(in: quantity.unit), length < shortest,
                // In a sum, a number without a unit may be anything.
                !quantity.unit.isEmpty || shortest == .max && rest.isEmpty,
                let part = quantity.counted(in: length), part <= Self.longest - sum
            else { return nil }
            sum += part
            shortest = length
        } while !rest.isEmpty
        duration = .microseconds(sum)
    }

    /// A century, which is beyond any use.
    private static let longest: Int64 = 36_525 * 86_400_000_000

    /// How long a unit is, in either case. `M` is none: it may be a month.
    private static func microseconds(in unit: Substring) -> Int64? {
        guard !unit.contains("M") else { return nil }
        return switch unit.lowercased() {
        case "ms": 1_000
        case "", "s": 1_000_000
        case "m": 60_000_000
        case "h": 3_600_000_000
        case "d": 86_400_000_000
        case "w": 604_800_000_000
        default: nil
        }
    }
}

extension TimeSpan {
    /// - Throws: `ValidationError`, which says what is valid.
    static func parse(_ argument: String) throws -> TimeSpan {
        if let span = TimeSpan(argument) { return span }
        throw ValidationError(
            """
            a time is a number of seconds, or numbers with ms, s, m, h, d or w, such as 90s, \
            1.5h, 30d or 1h30m; at most a century
            """)
    }

    /// The same, if 0 would mean nothing.
    static func parseAboveZero(_ argument: String) throws -> TimeSpan {
        let span = try parse(argument)
        guard span.duration > .zero else { throw ValidationError("it must be more than 0") }
        return span
    }
}
