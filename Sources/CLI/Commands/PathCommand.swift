import ArgumentParser
import Foundation
import LarderCache
import LarderKit

struct PathCommand: AsyncParsableCommand, GuidedCommand {
    static let configuration = CommandConfiguration(
        commandName: "path",
        abstract: "Print the path of a cached URL's file.",
        discussion: "The exit status is 2 if the URL is not cached, or its file is gone.")

    static let guide = CommandGuide(
        examples: [
            .init(
                "Copy an icon's file.",
                "cp \"$(larder path https://example.com/notes.png)\" notes.png")
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
            let object = resource.object
            guard try cache.isPresent(object.digest, size: object.size) else {
                throw CacheError(
                    .corrupt, subject: Lookup.shown(url),
                    message:
                        "the file differs from the index; larder verify --repair fetches it again"
                )
            }
            let line = cache.absolutePath(of: resource.object.digest) + "\n"
            // At once: the reader of the path should not wait for the index.
            try Console.print(
                line.withPath { Array(UnsafeRawBufferPointer(start: $0, count: strlen($0))) })
            cache.noteUse(of: resource.object)
        }
    }
}
