import ArgumentParser
import LarderKit

struct CatCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "cat",
        abstract: "Print a cached URL's bytes, checked against their digest.",
        discussion: """
            Exit status 2 where the URL is not cached or its object is damaged; then nothing is \
            printed.
            """)

    @OptionGroup var cache: CacheOptions

    @Argument(help: "The icon's URL, or the manifest's key for it.")
    var url: String

    func run() async throws {
        try await ExitStatus.of {
            let (cache, resource) = try Lookup(cache, url).found()
            try Console.print(try cache.bytes(of: resource.object))
            cache.noteUse(of: resource.object)
        }
    }
}
