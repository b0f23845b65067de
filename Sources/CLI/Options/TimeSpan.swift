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
    /// A duration, or `0`.
    static func orZero(_ argument: String) throws -> TimeSpan {
        if argument == "0" { return TimeSpan(seconds: 0) }
        guard let span = TimeSpan(argument: argument) else {
            throw ValidationError("'\(argument)' is no duration, such as 90s, 12h or 30d.")
        }
        return span
    }
}
