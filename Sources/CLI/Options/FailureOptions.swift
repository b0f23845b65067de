import ArgumentParser
import Foundation
import LarderPrefetch

/// What is asked for of what failed before, for `prefetch` and `plan`.
struct FailureOptions: ParsableArguments {
    @Option(
        help: ArgumentHelp(
            """
            For this long, do not ask again for an icon that was gone (404, 410): it fails at \
            once. 0 asks every time. (default: 1h)
            """, valueName: "time"),
        transform: TimeSpan.parse)
    var failureTtl = TimeSpan(seconds: 3600)

    @Flag(help: "Ask again for icons that were gone (404, 410).")
    var force = false

    @Flag(help: "Fetch only what failed before, including icons that were gone.")
    var retryFailed = false

    func apply(to policy: inout PlanPolicy) {
        policy.failureLifetime = force ? .zero : failureTtl.duration
        policy.retriesOnlyFailed = retryFailed
    }
}

/// How many entries may fail before the exit status says so: a count (`20`), or a part of all
/// entries (`2.5%`).
struct FailureAllowance: ExpressibleByArgument, Equatable, CustomStringConvertible {
    private enum Limit: Equatable {
        case count(Int)
        case percent(Decimal)
    }

    private let limit: Limit

    /// As it is typed.
    var description: String {
        switch limit {
        case .count(let count): "\(count)"
        case .percent(let percent): "\(percent)%"
        }
    }

    /// None may fail.
    static let none = FailureAllowance(limit: .count(0))

    var defaultValueDescription: String { "0" }

    private init(limit: Limit) { self.limit = limit }

    init?(argument: String) {
        func areDigits(_ text: Substring) -> Bool {
            !text.isEmpty && text.utf8.allSatisfy { (0x30...0x39).contains($0) }
        }
        guard argument.hasSuffix("%") else {
            guard areDigits(argument[...]), let count = Int(argument) else { return nil }
            limit = .count(count)
            return
        }
        // Decimal, because 0.1 % of 1,000 is one. It would read the beginning of anything.
        let digits = argument.dropLast()
        let parts = digits.split(separator: ".", omittingEmptySubsequences: false)
        guard parts.count <= 2, parts.allSatisfy(areDigits),
            let percent = Decimal(
                string: String(digits), locale: Locale(identifier: "en_US_POSIX")),
            percent <= 100
        else { return nil }
        limit = .percent(percent)
    }

    /// Whether so many failures of so many entries are allowed.
    func covers(_ failed: Int, of entries: Int) -> Bool {
        switch limit {
        case .count(let most): failed <= most
        case .percent(let percent): Decimal(failed) * 100 <= percent * Decimal(entries)
        }
    }
}

extension FailureAllowance {
    /// - Throws: `ValidationError`, which says what is valid.
    static func parse(_ argument: String) throws -> FailureAllowance {
        if let value = FailureAllowance(argument: argument) { return value }
        throw ValidationError("it is a count, such as 20, or a percentage up to 100%, such as 2.5%")
    }
}
