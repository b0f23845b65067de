import ArgumentParser
import Foundation
import LarderCache

/// Which cache, for every command.
struct CacheOptions: ParsableArguments {
    @Option(
        name: .customLong("cache"),
        help: ArgumentHelp(
            "The cache directory. (default: $LARDER_CACHE, else the user's cache directory)",
            valueName: "dir"))
    var directory: String?

    var path: String {
        let environment = ProcessInfo.processInfo.environment
        if let directory { return directory }
        if let named = environment["LARDER_CACHE"], !named.isEmpty { return named }
        #if canImport(Darwin)
            return NSHomeDirectory() + "/Library/Caches/larder"
        #else
            // XDG Base Directory Specification: relative paths are to be ignored.
            if let caches = environment["XDG_CACHE_HOME"], caches.hasPrefix("/") {
                return caches + "/larder"
            }
            // Not Foundation's, which asks the user database first.
            return (environment["HOME"] ?? NSHomeDirectory()) + "/.cache/larder"
        #endif
    }

    /// The cache for reading; nil where there is none, which reads as an empty one.
    func open() throws -> Cache? {
        do {
            return try Cache.open(at: path)
        } catch  where error.code == .missing {
            return nil
        }
    }
}
