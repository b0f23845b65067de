import ArgumentParser
import Foundation
import LarderCache
import LarderCore

struct ListCommand: CacheCommand {
    static let configuration = CommandConfiguration(
        commandName: "list", _superCommandName: "larder", abstract: "List the cached URLs.",
        discussion: """
            Each line has the digest, size in bytes, media type and URL, separated by tabs.

            EXAMPLES:
              # Print only the URLs.
              larder list | cut -f 4
            """)

    @OptionGroup var cache: CacheOptions

    @Flag(help: "Print one JSON line for each URL.") var json = false

    func run() async throws {
        try cache.open().forEachResource { print(json ? $0.json.text : $0.text) }
    }
}

struct PathCommand: CacheCommand {
    static let configuration = CommandConfiguration(
        commandName: "path", _superCommandName: "larder",
        abstract: "Print the path of a cached icon's file.",
        discussion: """
            The exit status is 2 if the icon is not cached, or its file is missing.

            EXAMPLES:
              # Copy the file of an icon.
              cp "$(larder path https://example.com/notes.png)" notes.png
            """)

    @OptionGroup var cache: CacheOptions
    @OptionGroup var lookup: Lookup

    func run() async throws {
        let (cache, resource) = try lookup.found(in: cache)
        let object = resource.object
        guard try cache.isPresent(object.digest, size: object.size) else {
            throw CacheError(
                .corrupt, subject: lookup.shown,
                message: "the file does not match the index; \(Lookup.remedy)")
        }
        let line = cache.absolutePath(of: object.digest) + "\n"
        // Prints the path before the index is updated, so that the reader does not wait.
        try Console.print(
            line.withPath { Array(UnsafeRawBufferPointer(start: $0, count: strlen($0))) })
        cache.noteUse(of: object)
    }
}

struct CatCommand: CacheCommand {
    static let configuration = CommandConfiguration(
        commandName: "cat", _superCommandName: "larder",
        abstract: "Print the verified bytes of a cached icon.",
        discussion: """
            The object is verified before any of its bytes are printed. The exit status is 2 if \
            the icon is not cached, or if its object is damaged or is modified during the output. \
            Binary data is not printed to a terminal without --force (status 64).

            EXAMPLES:
              # Write the bytes of an icon to a file.
              larder cat https://example.com/notes.png > notes.png
              # Do the same for an icon with a key in its manifest.
              larder cat key:app-1 > app-1.png
            """)

    @OptionGroup var cache: CacheOptions
    @OptionGroup var lookup: Lookup

    @Flag(help: "Print binary data to a terminal.") var force = false

    func run() async throws {
        let printsOnlyText = !force && isatty(STDOUT_FILENO) == 1
        let (cache, resource) = try lookup.found(in: cache)
        do {
            if printsOnlyText { try requireText(of: resource.object, in: cache) }
            try cache.forEachPiece(of: resource.object) { try Console.print($0) }
        } catch let error as CacheError where error.isOfDamagedObject {
            throw CacheError(
                error.code, subject: lookup.shown, message: "\(error); \(Lookup.remedy)")
        }
        cache.noteUse(of: resource.object)
    }

    private func requireText(of object: StoredObject, in cache: Cache) throws {
        var last: [UInt8] = []
        try cache.forEachPiece(of: object) { piece in
            // A character may continue in the next piece. Its first part does not count as binary.
            let bytes = last + piece
            last = Array(bytes.suffix(3))
            try refuse(
                if: String(decoding: bytes, as: UTF8.self).isBinary,
                "\(lookup.shown): binary data is not printed to a terminal; redirect it to a file, "
                    + "or use --force")
        }
    }
}

struct Lookup: ParsableArguments {
    static var remedy: String {
        "to download the icon again: \(Suggestion.command("verify --repair"))"
    }

    @Argument(
        help: .common("The URL of the icon, or key:NAME for its key in the manifest.", "url"),
        completion: .cachedNames)
    var url: String

    func found(in options: CacheOptions) throws -> (Cache, Resource) {
        let cache = try options.open()
        if let resource = try cache.resource(spelledAs: .spelled(url)) { return (cache, resource) }
        Console.complain("\(shown): not cached")
        throw ExitCode(ExitStatus.someFailed.rawValue)
    }

    var shown: String { ((try? HTTPURL(url))?.description ?? url.removingUserinfo).shownAsURL }
}

extension String {
    /// Returns the resource key for a URL, for `key:NAME` or `ni:…`, or for a manifest's key.
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

    package var json: JSONObject {
        [
            "url": shownURL, "key": ResourceKey.isApart(key, from: url) ? key.shownAsURL : nil,
            "digest": object.digest.description, "bytes": object.size,
            "media_type": object.mediaType, "width": object.width, "height": object.height,
            "path": object.path, "received": receivedAt.timeIntervalSince1970,
            "fresh_until": freshUntil.timeIntervalSince1970,
            "used": object.usedAt.timeIntervalSince1970,
        ]
    }
}
