import ArgumentParser

/// A duration on the command line: `90s`, `15m`, `12h`, `30d`; a bare number counts seconds.
struct TimeSpan: ExpressibleByArgument {
    let duration: Duration

    var defaultValueDescription: String {
        let seconds = duration.components.seconds
        for (unit, length) in [("h", 3_600 as Int64), ("m", 60)] where seconds % length == 0 {
            return "\(seconds / length)\(unit)"
        }
        return "\(seconds)s"
    }

    init(seconds: Int64) { duration = .seconds(seconds) }

    init?(argument: String) {
        let units: [String: Int64] = ["": 1, "s": 1, "m": 60, "h": 3_600, "d": 86_400]
        let digits = argument.prefix { $0.isASCII && $0.isNumber }
        // A century: far beyond any use, far below any overflow.
        guard let count = Int64(digits), count > 0, count <= 3_200_000_000,
            let unit = units[String(argument.dropFirst(digits.count))]
        else { return nil }
        duration = .seconds(min(count * unit, 3_200_000_000))
    }
}

extension TimeSpan {
    /// - Throws: `ValidationError`, which says what is valid.
    static func parse(_ argument: String) throws -> TimeSpan {
        if let span = TimeSpan(argument: argument) { return span }
        throw ValidationError(
            "a time is a whole number, at least 1, of s, m, h or d, such as 90s, 15m, 12h or 30d")
    }

    /// The same if a forgotten unit would cost dear.
    static func withUnit(_ argument: String) throws -> TimeSpan {
        let span = try parse(argument)
        guard argument.allSatisfy(\.isNumber) else { return span }
        throw ValidationError(
            "needs a unit: \(argument)s, \(argument)m, \(argument)h or \(argument)d")
    }

    /// The same, or a number of milliseconds: `40ms`.
    static func withMilliseconds(_ argument: String) throws -> Duration {
        if argument.hasSuffix("ms"), argument.dropLast(2).allSatisfy({ "0"..."9" ~= $0 }),
            let count = Int64(argument.dropLast(2)), (0...86_400_000).contains(count)
        {
            return .milliseconds(count)
        }
        if argument == "0" { return .zero }
        guard let span = TimeSpan(argument: argument) else {
            throw ValidationError(
                "a time is a whole number of ms, s, m, h or d, such as 40ms or 2s")
        }
        guard !argument.allSatisfy(\.isNumber) else {
            throw ValidationError("needs a unit: \(argument)ms or \(argument)s")
        }
        return span.duration
    }

    /// A duration, or `0`.
    static func orZero(_ argument: String) throws -> TimeSpan {
        argument == "0" ? TimeSpan(seconds: 0) : try parse(argument)
    }
}
