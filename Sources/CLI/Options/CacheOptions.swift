import ArgumentParser
import Foundation
import LarderCache
import Logging

protocol CacheCommand: AsyncParsableCommand { var cache: CacheOptions { get } }

extension CacheCommand { var colors: ColorChoice { cache.color ?? .auto } }

/// The options of all commands that use a cache.
struct CacheOptions: ParsableArguments {
    @Option(
        name: .customLong("cache"),
        help: .common(
            "The cache directory. (default: $LARDER_CACHE, else the user's cache directory)", "dir"
        ), completion: .directory)
    var directory: String?

    /// Declared only for the help and completions. ``ConfigFile`` removes it before parsing.
    @Flag(help: .rare("Ignore the configuration file: see larder config --help."))
    var noConfig = false

    @Option(
        help: .rare(
            "Colour results by outcome. With auto, results are coloured on a terminal, or "
                + "everywhere if CLICOLOR_FORCE is set, unless NO_COLOR is set. (default: auto)",
            "auto|always|never"))
    var color: ColorChoice?

    @Option(
        help: .rare(
            "Log messages of this level (trace, debug, info, notice, warning or error) and above "
                + "to standard error, one per line. (default: none)", "level"),
        completion: .list(Self.levels.map(\.rawValue)),
        transform: { text in
            if let level = levels.first(where: { $0.rawValue == text }) { return level }
            let names = levels.map(\.rawValue).joined(separator: ", ")
            throw ValidationError("expected one of \(names)")
        })
    var logLevel: Logger.Level?
    private static let levels = Logger.Level.allCases.filter { $0 != .critical }

    func validate() throws {
        // An empty name, from an unset variable, must not mean the working directory.
        if directory == "" { throw ValidationError("--cache needs the name of a directory.") }
        Log.level.withLock { $0 = logLevel }
    }

    var path: String { directory ?? Self.defaultPath }

    static var defaultPath: String {
        let environment = ProcessInfo.variables
        if let named = environment["LARDER_CACHE"], !named.isEmpty { return named.expandingHome }
        #if canImport(Darwin)
            return NSHomeDirectory() + "/Library/Caches/larder"
        #else
            return userFolder("XDG_CACHE_HOME", else: ".cache", in: environment) + "/larder"
        #endif
    }

    var absolutePath: String { URL(fileURLWithPath: path).standardizedFileURL.path }

    func open(wait: LockWait = .none, makingRoom: Bool = false) throws -> Cache {
        try existing {
            try makingRoom
                ? Cache.openMakingRoom(at: path, wait: wait, log: Log.cache)
                : Cache.open(at: path, wait: wait, log: Log.cache)
        }
    }

    func openIfThere() throws -> Cache? {
        do { return try open() } catch is MissingInputError { return nil }
    }

    func openDamaged(wait: LockWait, isForRepair: Bool) throws -> Cache {
        try existing {
            try Cache.openDamaged(at: path, wait: wait, log: Log.cache, isForRepair: isForRepair)
        }
    }

    /// A missing cache is an error, so that a mistyped path does not look like an empty cache.
    func existing<Value>(_ body: () throws -> Value) throws -> Value {
        do {
            return try body()
        } catch let error as CacheError where error.code == .missing {
            throw MissingInputError(
                description: "\(absolutePath): no cache here; name another directory with --cache,"
                    + " or create a cache with a prefetch")
        } catch let error as CacheError {
            throw error.located(inCacheAt: absolutePath)
        }
    }
}

/// Returns a folder of the XDG Base Directory Specification, which ignores relative paths.
func userFolder(
    _ variable: String, else name: String, in environment: [String: String]
) -> String {
    if let folder = environment[variable], folder.hasPrefix("/") { return folder }
    // ``ForeignBytes`` has unset an empty HOME.
    return (environment["HOME"] ?? NSHomeDirectory()) + "/" + name
}

extension String {
    /// Expands a leading `~`, which shells do not expand in quotes or in `--option=~/file`.
    var expandingHome: String {
        let equals = utf8.starts(with: "--".utf8) ? utf8.firstIndex(of: UInt8(ascii: "=")) : nil
        let start = equals.map(utf8.index(after:)) ?? startIndex
        guard self[start...].utf8.starts(with: "~/".utf8) else { return self }
        let home = Terminal.environment("HOME") ?? NSHomeDirectory()
        return self[..<start] + home + Substring(self[start...].utf8.dropFirst())
    }
}

struct LockOptions: ParsableArguments {
    @Option(
        help: .common(
            "Hold a lock with this name, and wait while another run holds it. The name may contain "
                + "letters, digits, '.', '_' and '-'.", "name"))
    var exclusive: String?

    @Flag(help: "Exit with status 75 instead of waiting for other runs.") var noWait = false

    @Option(
        name: .customLong("wait"),
        help: .common(
            "Exit with status 75 after waiting this long for other runs. (default: no limit)",
            "time"), transform: TimeSpan.parse)
    var limit: Duration?

    func validate() throws {
        try refuse(
            if: exclusive.map(NamedLock.isName) == false,
            "--exclusive needs a name of at most 100 letters, digits, '.', '_' and '-'.")
        try refuse(if: noWait && limit != nil, "--no-wait and --wait cannot be combined.")
    }

    func wait(isQuiet: Bool, isCancelled: @escaping @Sendable () -> Bool) -> LockWait {
        LockWait(
            limit: noWait ? .zero : limit,
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
