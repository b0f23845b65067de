import ArgumentParser
import Foundation
import LarderCache

struct CacheOptions: ParsableArguments {
    @Option(
        name: .customLong("cache"),
        help: ArgumentHelp(
            "The cache directory. (default: $LARDER_CACHE, else the user's cache directory)",
            valueName: "dir"), completion: .directory)
    var directory: String?

    func validate() throws {
        // A script's variable may be unset: the working directory is not meant.
        if directory == "" { throw ValidationError("--cache needs the name of a directory.") }
    }

    var path: String {
        if let directory { return directory }
        let environment = ProcessInfo.processInfo.environment
        if let named = environment["LARDER_CACHE"], !named.isEmpty { return named }
        #if canImport(Darwin)
            return NSHomeDirectory() + "/Library/Caches/larder"
        #else
            // XDG Base Directory Specification: relative paths are ignored.
            if let caches = environment["XDG_CACHE_HOME"], caches.hasPrefix("/") {
                return caches + "/larder"
            }
            // An empty HOME is not set (``ForeignBytes``).
            return (environment["HOME"] ?? NSHomeDirectory()) + "/.cache/larder"
        #endif
    }

    var absolutePath: String { URL(fileURLWithPath: path).standardizedFileURL.path }

    /// Opens the cache for reading. Nil if there is none, with a message.
    ///
    /// - Parameter makingRoom: Whether the disk may be too full for anything but an eviction.
    func open(wait: LockWait = .none, makingRoom: Bool = false) throws -> Cache? {
        let cache = try present(wait, makingRoom ? Cache.openMakingRoom : Cache.open)
        if cache == nil {
            Console.complain("\(absolutePath): there is no cache here; it reads as an empty one")
        }
        return cache
    }

    func openIfThere() throws -> Cache? { try present(.none, Cache.open) }

    /// - Throws: ``MissingInput`` if there is none.
    func required(wait: LockWait) throws -> Cache { try required(present(wait, Cache.open)) }

    /// Opens the cache to verify it, though its index may be damaged.
    ///
    /// - Throws: ``MissingInput`` if there is none: a mistyped path is not a whole cache.
    func openDamaged(wait: LockWait, isForRepair: Bool) throws -> Cache {
        try required(
            present(wait) { (path, wait, log) throws(CacheError) in
                try Cache.openDamaged(at: path, wait: wait, log: log, isForRepair: isForRepair)
            })
    }

    private func required(_ cache: Cache?) throws(MissingInput) -> Cache {
        if let cache { return cache }
        throw MissingInput(description: "\(absolutePath): there is no cache here")
    }

    private func present(
        _ wait: LockWait, _ open: (String, LockWait, CacheLog) throws(CacheError) -> Cache
    ) throws -> Cache? {
        do {
            return try open(path, wait, Log.cache)
        } catch  where error.code == .missing {
            return nil
        }
    }
}
