import ArgumentParser
import LarderCache
import LarderKit
import LarderTransfer

/// Finds what the cache has for a URL in any spelling, with or without credentials, or for a
/// manifest's key.
struct Lookup {
    private let options: CacheOptions
    private let url: String

    init(_ options: CacheOptions, _ url: String) {
        self.options = options
        self.url = url
    }

    /// The resource; a complaint and status 2 if there is none.
    func found() throws -> (Cache, Resource) {
        if let cache = try options.open(),
            let resource = try cache.resource(spelledAs: .spelled(url))
        {
            return (cache, resource)
        }
        Console.complain("\(Self.shown(url)): not cached")
        throw ExitCode(ExitStatus.someFailed.rawValue)
    }

    /// A URL or key for people, without its secrets.
    static func shown(_ url: String) -> String {
        ((try? HTTPURL(url))?.description ?? url.removingUserinfo).shownAsURL
    }
}
