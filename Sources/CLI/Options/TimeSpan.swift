import ArgumentParser

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
