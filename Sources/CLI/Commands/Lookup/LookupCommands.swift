import ArgumentParser
import Foundation
import LarderCache
import LarderCore

struct ListCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "list", abstract: "List the cached URLs.",
        discussion: """
            Each line has digest, size in bytes, media type and URL, separated by tabs.

            EXAMPLES:
              # Print the URLs alone.
              larder list | cut -f 4
            """)

    @OptionGroup var cache: CacheOptions

    @Flag(help: "Print one JSON line for each URL.") var json = false

    func run() async throws {
        try await ExitStatus.of(cache) {
            try cache.open()?.forEachResource { print(json ? $0.json : $0.text) }
        }
    }
}

struct PathCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "path", abstract: "Print the path of a cached URL's file.",
        discussion: """
            The exit status is 2 if the URL is not cached, or its file is gone.

            EXAMPLES:
              # Copy an icon's file.
              cp "$(larder path https://example.com/notes.png)" notes.png
            """)

    @OptionGroup var cache: CacheOptions
    @OptionGroup var lookup: Lookup

    func run() async throws {
        try await ExitStatus.of(cache) {
            let (cache, resource) = try lookup.found(in: cache)
            let object = resource.object
            guard try cache.isPresent(object.digest, size: object.size) else {
                throw CacheError(
                    .corrupt, subject: lookup.shown,
                    message:
                        "the file differs from the index; larder verify --repair fetches it again"
                )
            }
            let line = cache.absolutePath(of: resource.object.digest) + "\n"
            // First: the reader of the path should not wait for the index.
            try Console.print(
                line.withPath { Array(UnsafeRawBufferPointer(start: $0, count: strlen($0))) })
            cache.noteUse(of: resource.object)
        }
    }
}

struct CatCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "cat", abstract: "Print a cached URL's bytes, checked against their digest.",
        discussion: """
            The exit status is 2 if the URL is not cached or its object is damaged. Nothing is \
            printed then, unless another program writes into the object while it is printed.

            EXAMPLES:
              # Write an icon's bytes into a file.
              larder cat https://example.com/notes.png > notes.png
              # The same for an icon that its manifest gives a key.
              larder cat key:app-1 > app-1.png
            """)

    @OptionGroup var cache: CacheOptions
    @OptionGroup var lookup: Lookup

    func run() async throws {
        try await ExitStatus.of(cache) {
            let (cache, resource) = try lookup.found(in: cache)
            do {
                try cache.forEachPiece(of: resource.object) { try Console.print($0) }
            } catch let error as CacheError where error.isOfDamagedObject {
                throw CacheError(
                    error.code, subject: lookup.shown,
                    message: "\(error); larder verify --repair fetches it again")
            }
            cache.noteUse(of: resource.object)
        }
    }
}

struct Lookup: ParsableArguments {
    @Argument(
        help: ArgumentHelp(
            "The icon's URL, or key:NAME if its manifest gives it that key.",
            valueName: "url"),
        completion: .cachedNames)
    var url: String

    /// - Throws: Status 2 if there is none, after a message.
    func found(in options: CacheOptions) throws -> (Cache, Resource) {
        if let cache = try options.open(),
            let resource = try cache.resource(spelledAs: .spelled(url))
        {
            return (cache, resource)
        }
        Console.complain("\(shown): not cached")
        throw ExitCode(ExitStatus.someFailed.rawValue)
    }

    var shown: String { ((try? HTTPURL(url))?.description ?? url.removingUserinfo).shownAsURL }
}

extension String {
    /// The ``ResourceKey`` that a user means: of an http or https URL in any spelling, that URL's;
    /// `key:NAME` or `ni:…` as `list --json` has it; anything else is a manifest's key.
    static func spelled(_ text: String) -> String {
        if let url = try? HTTPURL(text) { return url.key }
        if let name = ResourceKey.name(in: text) { return ResourceKey.named(name.removingUserinfo) }
        return ResourceKey.isSpelledOut(text) ? text : ResourceKey.named(text.removingUserinfo)
    }
}

extension Resource {
    package var text: String {
        "\(object.digest)\t\(object.size)\t\(object.mediaType ?? "-")\t\(shownURL)"
    }

    package var json: String {
        var item = JSONObject()
        item.set("url", shownURL)
        item.set("key", ResourceKey.isApart(key, from: url) ? key.shownAsURL : nil)
        item.set("digest", object.digest.description)
        item.set("bytes", object.size)
        item.set("media_type", object.mediaType)
        item.set("width", object.width)
        item.set("height", object.height)
        item.set("path", object.path)
        item.set("received", receivedAt.timeIntervalSince1970)
        item.set("fresh_until", freshUntil.timeIntervalSince1970)
        item.set("used", object.usedAt.timeIntervalSince1970)
        return item.text
    }
}
