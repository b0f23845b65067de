import ArgumentParser
import Foundation

struct Quantity {
    let number: Decimal
    let unit: Substring

    /// Removes a quantity from the start of `text`. `Decimal` limits its number to 38 digits.
    init?(takenFrom text: inout Substring) {
        guard let match = text.prefixMatch(of: /([0-9]*)(\.[0-9]+)?([^0-9.]*)/) else { return nil }
        let digits = match.output.1 + (match.output.2 ?? "")
        guard digits.count(where: { $0 != "." }) <= 38,
            let number = Decimal(
                string: String("0" + digits), locale: Locale(identifier: "en_US_POSIX")),
            !digits.isEmpty
        else { return nil }
        self.number = number
        unit = match.output.3
        text = text[match.range.upperBound...]
    }

    init?(_ argument: String) {
        var rest = argument[...]
        self.init(takenFrom: &rest)
        guard rest.isEmpty else { return nil }
    }

    /// Multiplies and rounds down. Returns nil on overflow, or if a positive number would become 0.
    func counted(in size: Int64) -> Int64? {
        var (product, count) = (number * Decimal(size), Decimal())
        NSDecimalRound(&count, &product, 0, .down)
        return count > 0 || number == 0 ? Int64(count.description) : nil
    }

    /// Parses an argument. If it would be valid without its spaces, the error says so.
    fileprivate static func parse<Value: Comparable & AdditiveArithmetic>(
        _ argument: String, _ refusal: @autoclosure () -> ValidationError,
        _ read: (String) -> Value?
    ) throws -> Value {
        if let value = read(argument) { return value }
        let text = argument.filter { $0 != " " }
        if text.utf8.count < argument.utf8.count, let value = read(text), value > .zero {
            throw ValidationError("write \(text) without a space")
        }
        throw refusal()
    }

    static func perSecond(_ argument: String) throws -> Double {
        try parse(argument, ValidationError("expected a number, such as 5, 0.5 or 5/s")) { text in
            Quantity(text).flatMap {
                ["", "/s"].contains($0.unit) ? NSDecimalNumber(decimal: $0.number).doubleValue : nil
            }
        }
    }

    /// Parses a percentage from 0 to 100. `Decimal` is exact, so 0.1 % of 1,000 is exactly 1.
    static func percent(_ argument: String) -> Decimal? {
        guard argument.prefix(1).isDigits, let quantity = Quantity(argument),
            quantity.unit == "%", quantity.number <= 100
        else { return nil }
        return quantity.number
    }
}

extension StringProtocol {
    var isDigits: Bool { !isEmpty && utf8.allSatisfy { (0x30...0x39).contains($0) } }
}

/// A size on the command line: `500`, `500kB`, `1.5G`, `500MB` (10^6) or `500MiB` (2^20).
enum ByteCount {
    static func parse(_ argument: String) throws -> Int64 {
        try Quantity.parse(argument, refusal(of: argument), bytes)
    }

    static func parseAboveZero(_ argument: String) throws -> Int64 {
        let bytes = try parse(argument)
        try refuse(if: bytes == 0, "must be at least 1")
        return bytes
    }

    static func perSecond(_ argument: String) throws -> Int64 {
        func size(_ text: String) -> String {
            text.hasSuffix("/s") ? String(text.dropLast(2)) : text
        }
        let rate = try Quantity.parse(argument, refusal(of: size(argument))) { bytes(size($0)) }
        try refuse(if: rate == 0, "must be more than 0")
        return rate
    }

    private static func bytes(_ argument: String) -> Int64? {
        // A fraction of a byte means that the unit was forgotten.
        guard let quantity = Quantity(argument), let size = size(of: quantity.unit),
            size > 1 || !argument.contains(".")
        else { return nil }
        return quantity.counted(in: size)
    }

    /// Units in lower case, and their sizes in bytes. `Mb` is refused: it may mean a megabit.
    private static let units: [String: Int64] = [
        "": 1, "b": 1, "k": 1_000, "kb": 1_000, "kib": 1 << 10, "m": 1_000_000, "mb": 1_000_000,
        "mib": 1 << 20, "g": 1_000_000_000, "gb": 1_000_000_000, "gib": 1 << 30,
        "t": 1_000_000_000_000, "tb": 1_000_000_000_000, "tib": 1 << 40,
    ]

    private static func size(of unit: Substring) -> Int64? {
        unit.wholeMatch(of: /[A-Z]b/) == nil ? units[unit.lowercased()] : nil
    }

    private static func refusal(of argument: String) -> ValidationError {
        let limit = "at most \(Int64.max) bytes"
        if let quantity = Quantity(argument), let size = size(of: quantity.unit),
            quantity.number * Decimal(size) > Decimal(Int64.max)
        {
            return ValidationError("too large; \(limit)")
        }
        return ValidationError(
            "expected a number of bytes, or a number with k, M, G or T, such as 500k, 1.5G, "
                + "500MB (10^6) or 500MiB (2^20); \(limit)")
    }
}

/// A duration on the command line: `90` (seconds), `90s`, `1.5h`, `30d` or `1h30m`.
enum TimeSpan {
    private static let longest: Int64 = 36_525 * 86_400_000_000

    /// Units in lower case, and their lengths in microseconds. `M` is refused: it may mean a month.
    private static let units: [String: Int64] = [
        "ms": 1_000, "": 1_000_000, "s": 1_000_000, "m": 60_000_000, "h": 3_600_000_000,
        "d": 86_400_000_000, "w": 604_800_000_000,
    ]

    static func parse(_ argument: String) throws -> Duration {
        let refusal = ValidationError(
            "expected seconds, or numbers with ms, s, m, h, d or w, such as 90s, 1.5h, 30d or "
                + "1h30m; at most 100 years")
        return try Quantity.parse(argument, refusal, duration)
    }

    static func parseAboveZero(_ argument: String) throws -> Duration {
        let duration = try parse(argument)
        try refuse(if: duration == .zero, "must be more than 0")
        return duration
    }

    /// Parses one number, or a sum with the units in descending order, such as `1h30m`.
    private static func duration(_ argument: String) -> Duration? {
        var rest = argument[...]
        var shortest = Int64.max
        var sum: Int64 = 0
        repeat {
            guard let quantity = Quantity(takenFrom: &rest), !quantity.unit.contains("M"),
                let length = units[quantity.unit.lowercased()], length < shortest,
                // In a sum, a number without a unit is ambiguous.
                !quantity.unit.isEmpty || shortest == .max && rest.isEmpty,
                let part = quantity.counted(in: length), part <= longest - sum
            else { return nil }
            sum += part
            shortest = length
        } while !rest.isEmpty
        return .microseconds(sum)
    }
}

extension Duration { var seconds: Double { self / .seconds(1) } }

func refuse(if isWrong: Bool, _ message: @autoclosure () -> String) throws(ValidationError) {
    if isWrong { throw ValidationError(message()) }
}

func refuse(
    _ option: String, _ value: Int, outside limits: ClosedRange<Int>
) throws(ValidationError) {
    try refuse(
        if: !limits.contains(value),
        "\(option) must be from \(limits.lowerBound) to \(limits.upperBound).")
}

func validated<Value>(
    _ message: (any Error) -> String, _ body: () throws -> Value
) throws(ValidationError) -> Value {
    do {
        return try body()
    } catch {
        throw ValidationError(message(error))
    }
}
