import ArgumentParser
import LarderKit

struct PathCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "path",
        abstract: "Print the path of a cached URL's file.",
        discussion: "Exit status 2 where the URL is not cached.")

    @OptionGroup var cache: CacheOptions

    @Argument(help: "The icon's URL, or the manifest's key for it.")
    var url: String

    func run() async throws {
        try await ExitStatus.of {
            let (cache, resource) = try Lookup(cache, url).found()
            print(cache.absolutePath(of: resource.object.digest))
        }
    }
}
