import ArgumentParser
import LarderCache
import LarderKit

struct CatCommand: AsyncParsableCommand, GuidedCommand {
    static let configuration = CommandConfiguration(
        commandName: "cat",
        abstract: "Print a cached URL's bytes, checked against their digest.",
        discussion: """
            The exit status is 2 if the URL is not cached or its object is damaged. Nothing is \
            printed then, unless another program writes into the object while it is printed.
            """)

    static let guide = CommandGuide(
        examples: [
            .init(
                "Write an icon's bytes into a file.",
                "larder cat https://example.com/notes.png > notes.png"),
            .init(
                "The same for an icon that its manifest gives a key.",
                "larder cat key:app-1 > app-1.png"),
        ])

    @OptionGroup var cache: CacheOptions

    @Argument(
        help: ArgumentHelp(
            "The icon's URL, or key:NAME if its manifest gives it that key.",
            valueName: "url"))
    var url: String

    func run() async throws {
        try await ExitStatus.of(cache) {
            let (cache, resource) = try Lookup(cache, url).found()
            do {
                try cache.forEachPiece(of: resource.object) { try Console.print($0) }
            } catch let error as CacheError where error.isOfDamagedObject {
                throw CacheError(
                    error.code, subject: Lookup.shown(url),
                    message: "\(error); larder verify --repair fetches it again")
            }
            cache.noteUse(of: resource.object)
        }
    }
}
