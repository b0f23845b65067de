import ArgumentParser
import Foundation
import LarderCache

struct CacheOptions: ParsableArguments {
    @Option(
        name: .customLong("cache"),
        help: .common(
            "The cache directory. (default: $LARDER_CACHE, else the user's cache directory)", "dir"
        ), completion: .directory)
    var directory: String?

    func validate() throws {
        // An unset variable in a script must not select the working directory.
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
            // ``ForeignBytes`` has unset an empty HOME.
            return (environment["HOME"] ?? NSHomeDirectory()) + "/.cache/larder"
        #endif
    }

    var absolutePath: String { URL(fileURLWithPath: path).standardizedFileURL.path }

    /// Opens the cache for reading. Without a cache, prints a message and returns nil.
    ///
    /// - Parameter makingRoom: Whether to open the cache even on a full disk, for an eviction.
    func open(wait: LockWait = .none, makingRoom: Bool = false) throws -> Cache? {
        let cache = try present(wait, makingRoom ? Cache.openMakingRoom : Cache.open)
        if cache == nil {
            Console.complain("\(absolutePath): no cache here; treated as an empty cache")
        }
        return cache
    }

    func openIfThere() throws -> Cache? { try present(.none, Cache.open) }

    func required(wait: LockWait) throws -> Cache { try required(present(wait, Cache.open)) }

    /// Opens a cache whose index may be damaged, to verify it.
    ///
    /// - Throws: ``MissingInput`` without a cache, because a mistyped path must not appear clean.
    func openDamaged(wait: LockWait, isForRepair: Bool) throws -> Cache {
        try required(
            present(wait) { (path, wait, log) throws(CacheError) in
                try Cache.openDamaged(at: path, wait: wait, log: log, isForRepair: isForRepair)
            })
    }

    private func required(_ cache: Cache?) throws(MissingInput) -> Cache {
        if let cache { return cache }
        throw MissingInput(description: "\(absolutePath): no cache here")
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
