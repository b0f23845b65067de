import ArgumentParser
import LarderKit
import LarderPresentation

struct ListCommand: AsyncParsableCommand, GuidedCommand {
    static let configuration = CommandConfiguration(
        commandName: "list",
        abstract: "List the cached URLs.",
        discussion: "Each line has digest, size in bytes, media type and URL, separated by tabs.")

    static let guide = CommandGuide(
        examples: [
            .init("Print the URLs alone.", "larder list | cut -f 4")
        ])

    @OptionGroup var cache: CacheOptions

    @Flag(help: "Print one JSON line for each URL.")
    var json = false

    func run() async throws {
        try await ExitStatus.of(cache) {
            try cache.open()?.forEachResource { print(json ? $0.json : $0.text) }
        }
    }
}
