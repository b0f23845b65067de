import ArgumentParser
import LarderKit
import LarderTransfer

/// Which manifests, for `prefetch` and `plan`.
struct ManifestOptions: ParsableArguments {
    @Argument(
        help: ArgumentHelp(
            """
            A file, an http or https URL, or - for standard input. The format is XML or binary \
            plist, JSON, JSON Lines or a list of URLs, with or without gzip.
            """,
            valueName: "manifest"))
    var manifests: [String]

    @Flag(help: "Accept bodies that are not images.")
    var anyContent = false

    /// - Parameter configuration: how manifests are read, and fetched if they are on the
    ///   network.
    func sources(_ configuration: PrefetchConfiguration) throws -> [ManifestSource] {
        try manifests.map { try Self.source($0, configuration) }
    }

    /// What a manifest's name on the command line stands for.
    static func source(
        _ text: String, _ configuration: PrefetchConfiguration
    ) throws -> ManifestSource {
        if text == "-" { return .standardInput }
        guard let url = try url(text) else { return .file(text) }
        var manifest = configuration.remoteManifest(url)
        manifest.maximumBytes = configuration.manifestRules.limits.maximumUnpackedSize
        return .remote(manifest)
    }

    /// Nil if the text names a file.
    static func url(_ text: String) throws -> HTTPURL? {
        let scheme = text.prefix { $0.isASCII && ($0.isLetter || $0.isNumber) }
        guard !scheme.isEmpty, text.dropFirst(scheme.count).hasPrefix(":/") else { return nil }
        do {
            return try HTTPURL(text)
        } catch {
            // Not quoted: it may hold a password.
            let isHTTP = ["http", "https"].contains(scheme.lowercased())
            throw ValidationError(
                isHTTP
                    ? "A manifest's URL cannot be read as one."
                    : "A manifest's URL has the scheme '\(scheme)', and not http or https.")
        }
    }

    func validate() throws {
        if manifests.isEmpty { throw ValidationError("Name at least one manifest.") }
        if manifests.contains("") { throw ValidationError("A manifest's name is empty.") }
        if manifests.filter({ $0 == "-" }).count > 1 {
            throw ValidationError("Standard input can be read only once.")
        }
        _ = try manifests.map(Self.url)
    }
}
