import ArgumentParser
import Foundation
import LarderCache
import LarderCore
import LarderImages
import LarderManifest

struct ManifestOptions: ParsableArguments {
    @Argument(
        help: .common(
            """
            A file, an http or https URL, or - for standard input. The format is a property list, \
            XML, JSON, JSON Lines, YAML or a list of URLs, with or without gzip.
            """, "manifest"), completion: .manifest)
    var manifests: [String]

    private static let formats = ImageFormat.all.map(\.mediaType.name).joined(separator: ", ")

    @Flag(help: .rare("Accept files that are not images (\(Self.formats))."))
    var anyContent = false

    func sources() throws -> [ManifestSource] { try manifests.map(Self.source) }

    static func source(_ text: String) throws -> ManifestSource {
        if text == "-" { return .standardInput }
        return try url(text).map { .url($0) } ?? .file(text)
    }

    static func url(_ text: String) throws -> HTTPURL? {
        let scheme = text.prefix { $0.isASCII && ($0.isLetter || $0.isNumber) }
        guard !scheme.isEmpty, text.dropFirst(scheme.count).hasPrefix(":/") else { return nil }
        do {
            return try HTTPURL(text)
        } catch {
            // The URL is not quoted, because it may contain a password.
            let isHTTP = ["http", "https"].contains(scheme.lowercased())
            throw ValidationError(
                isHTTP
                    ? "The URL of a manifest is not valid."
                    : "The URL of a manifest has the scheme '\(scheme)' instead of http or https.")
        }
    }

    func validate() throws {
        if manifests.isEmpty { throw ValidationError("At least one manifest is required.") }
        try LocalManifests.validate(manifests)
    }
}

struct ManifestSelection: ParsableArguments {
    @Option(
        help: .common(
            """
            Use the icons in this manifest. May be repeated. (required for import and pull; \
            default for export and push: all icons in the cache)
            """, "manifest"),
        completion: .manifest)
    var manifest: [String] = []

    func validate() throws { try LocalManifests.validate(manifest) }

    func requireSome() throws {
        if manifest.isEmpty { throw ValidationError("At least one --manifest is required.") }
    }
}

/// Manifests read without the network: files, standard input, and cached copies of URLs.
struct LocalManifests {
    private let sources: [ManifestSource]
    private let ownKeys: [String]
    private let rules: ManifestRules

    init(_ names: [String], rules: ManifestRules, cache: Cache?) throws {
        self.rules = rules
        ownKeys = try names.map(ManifestOptions.url).compactMap(\.?.string)
        sources = try names.map { try Self.source($0, rules: rules, cache: cache) }
    }

    static func source(
        _ name: String, rules: ManifestRules, cache: Cache?
    ) throws -> ManifestSource {
        guard let url = try ManifestOptions.url(name) else {
            return try ManifestOptions.source(name)
        }
        return .url(url).cached { try cache?.manifest($0)?.file }
    }

    static func complainOfNoEntries(_ names: [String], _ result: String) {
        Console.complain("\(names.joined(separator: ", ")): no entries, so \(result)")
    }

    static func validate(_ names: [String]) throws {
        if names.contains("") { throw ValidationError("The name of a manifest is empty.") }
        try validateStandardInput(names)
        _ = try names.map(ManifestOptions.url)
    }

    static func validateStandardInput(_ names: [String]) throws {
        let count = names.count { $0 == "-" }
        try refuse(if: count > 1, "Standard input (-) can be read only once.")
    }

    func forEachKey(_ body: (String) throws -> Void) throws {
        for source in sources { try source.forEachKey(rules: rules, body) }
        try ownKeys.forEach(body)
    }

    /// Calls `body` with all keys. Throws if an entry is unusable or if there are no icons.
    func forEachKeyOfAll(_ body: (String) throws -> Void) throws {
        var isEmpty = true
        for source in sources {
            try source.forEachKey(rules: rules, mustBeUsable: true) { key in
                isEmpty = false
                try body(key)
            }
        }
        guard isEmpty else { return try ownKeys.forEach(body) }
        throw ManifestError(
            .empty, source: sources.map(\.name).joined(separator: ", "),
            "no entry names an icon, so every object would be removed")
    }

    static func isURL(_ text: String) -> Bool {
        let start = text.prefix(8).lowercased()
        return start.hasPrefix("http://") || start.hasPrefix("https://")
    }
}
