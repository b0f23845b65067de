import ArgumentParser
import LarderCache

struct LockOptions: ParsableArguments {
    @Option(
        help: ArgumentHelp(
            "Run only while no other run has this name (of letters, digits, '.', '_' and '-').",
            valueName: "name"))
    var exclusive: String?

    @Flag(help: "Do not wait for other runs, but exit with status 75.") var noWait = false

    @Option(
        name: .customLong("wait"),
        help: ArgumentHelp(
            """
            Wait at most this long for other runs, then exit with status 75. (default: as long as \
            it takes)
            """, valueName: "time"), transform: TimeSpan.parse)
    var limit: TimeSpan?

    func validate() throws {
        if let exclusive, !NamedLock.isName(exclusive) {
            throw ValidationError(
                "--exclusive needs a name of letters, digits, '.', '_' and '-', at most 100.")
        }
        if noWait, limit != nil {
            throw ValidationError("--no-wait and --wait exclude each other.")
        }
    }

    func wait(isQuiet: Bool) -> LockWait {
        LockWait(limit: noWait ? .zero : limit?.duration) { message in
            if !isQuiet { Console.complain(message) }
        }
    }

    /// Takes the lock of `--exclusive`. Nil without that option, or without a cache.
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
