import ArgumentParser
import LarderCache

struct LockOptions: ParsableArguments {
    @Option(
        help: .common(
            """
            Hold a lock with this name, and wait while another run holds it. The name may contain \
            letters, digits, '.', '_' and '-'.
            """, "name"))
    var exclusive: String?

    @Flag(help: "Exit with status 75 instead of waiting for other runs.") var noWait = false

    @Option(
        name: .customLong("wait"),
        help: .common(
            "Exit with status 75 after waiting this long for other runs. (default: no limit)",
            "time"), transform: TimeSpan.parse)
    var limit: TimeSpan?

    func validate() throws {
        if let exclusive, !NamedLock.isName(exclusive) {
            throw ValidationError(
                "--exclusive needs a name of at most 100 letters, digits, '.', '_' and '-'.")
        }
        try refuse(if: noWait && limit != nil, "--no-wait and --wait cannot be combined.")
    }

    func wait(isQuiet: Bool, isCancelled: @escaping @Sendable () -> Bool) -> LockWait {
        LockWait(
            limit: noWait ? .zero : limit?.duration,
            onWait: { message in if !isQuiet { Console.complain(message) } },
            isCancelled: isCancelled)
    }

    func take(
        on cache: CacheOptions, create: Bool, for command: String, wait: LockWait
    ) throws -> NamedLock? {
        guard let exclusive else { return nil }
        do {
            return try NamedLock(
                exclusive, ofCacheAt: cache.path, create: create, for: command, wait: wait)
        } catch  where error.code == .missing {
            return nil
        }
    }
}
