import ArgumentParser
import LarderKit

/// How patient and how polite a run is.
struct RetryOptions: ParsableArguments {
    @Option(
        help: ArgumentHelp(
            "Try each URL up to this many times in all while its failure may be temporary.",
            valueName: "n"))
    var attempts = 5

    @Option(
        help: ArgumentHelp(
            """
            Begin no attempt later than this after the first one, and give up on a host that asks \
            for a longer wait. (default: 10m)
            """, valueName: "time"),
        transform: TimeSpan.parseAboveZero)
    var retryMaxTime = TimeSpan(seconds: 600)

    @Option(
        help: ArgumentHelp(
            """
            Begin at most this many requests a second to one scheme, host and port, such as 5 or \
            0.5. Not for rehearse.
            """,
            valueName: "n"),
        transform: { try Quantity.number($0, unit: "/s") })
    var ratePerHost: Double?

    func validate() throws {
        guard (1...100).contains(attempts) else {
            throw ValidationError("--attempts must be from 1 to 100.")
        }
        if let ratePerHost, !(0.001...100_000).contains(ratePerHost) {
            throw ValidationError("--rate-per-host must be from 0.001 to 100000.")
        }
    }

    func apply(to configuration: inout PrefetchConfiguration) {
        configuration.retry.attempts = attempts
        configuration.retry.maximumTime = retryMaxTime.duration
        configuration.ratePerHost = ratePerHost
    }
}
