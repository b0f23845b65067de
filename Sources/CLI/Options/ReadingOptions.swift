import ArgumentParser
import LarderCore
import LarderManifest
import LarderPrefetch

/// The same for every command, so that one finds what another has fetched.
struct ReadingOptions: ParsableArguments {
    @Option(help: ArgumentHelp("Resolve relative icon URLs against this URL.", valueName: "url"))
    var baseURL: String?

    @Option(
        help: ArgumentHelp(
            """
            Where the entries are, such as feed.results. By default, the manifest's shape decides.
            """, valueName: "path"))
    var entries: String?

    @Option(help: .rare("Where an entry's name is.", "path")) var nameKey: String?

    @Option(
        help: ArgumentHelp(
            "Where an entry's icons are, such as logo or icons[*].src. May be repeated.",
            valueName: "path"))
    var iconKey: [String] = []

    @Option(help: .rare("Where an entry's priority is.", "path")) var priorityKey: String?

    @Option(help: .rare("Where an entry's digest is: sha256-…, or 64 hexadecimal digits.", "path"))
    var integrityKey: String?

    @Option(help: .rare("Which icons to take if an entry has several."))
    var icons = IconSelection.all

    @Option(
        help: .rare(
            """
            Replace {size}, {width}, {height}, {w} and {h} in an icon's URL with this number of \
            pixels.
            """, "n"))
    var iconSize = 512

    @Option(help: .rare("Fetch ipfs: URLs from here, such as https://ipfs.io.", "url"))
    var ipfsGateway: String?

    @Option(
        help: .rare(
            "Refuse a manifest with more entries. One with several icons counts once per icon.", "n"
        ))
    var maxEntries = ManifestLimits().maximumEntries

    @Option(
        help: .rare(
            """
            Refuse a manifest from a URL, or unpacked from gzip, that is longer. (default: 256MiB)
            """, "size"), transform: ByteCount.parse)
    var maxManifestSize = ByteCount(ManifestLimits().maximumUnpackedSize)

    @Option(
        help: .rare(
            """
            Refuse a gzip file that unpacks to more than this many times its length, and more than \
            16MiB.
            """, "n"))
    var maxUnpackRatio = ManifestLimits().maximumUnpackingRatio

    func validate() throws {
        guard iconSize > 0 else { throw ValidationError("--icon-size must be at least 1.") }
        for (option, value) in [
            ("--max-entries", Int64(maxEntries)), ("--max-manifest-size", maxManifestSize.bytes),
            ("--max-unpack-ratio", Int64(maxUnpackRatio)),
        ] where value <= 0 { throw ValidationError("\(option) must be at least 1.") }
        _ = try rules()
    }

    func validate(for manifests: [String]) throws {
        if manifests.isEmpty, try rules() != ManifestRules() {
            throw ValidationError("Options for reading manifests need --manifest.")
        }
    }

    func rules() throws -> ManifestRules {
        var rules = ManifestRules(
            baseURL: try HTTPURL.base(baseURL.map { try Self.filled($0, size: iconSize) }))
        rules.entries = try entries.map { try Self.path($0, of: "--entries") }
        if rules.entries?.isFilter == true {
            throw ValidationError(
                "--entries takes no filter ([?…]): a manifest is read from front to back, once."
            )
        }
        rules.nameKey = try nameKey.map { try Self.path($0, of: "--name-key") }
        rules.iconKeys = try iconKey.map { try Self.path($0, of: "--icon-key") }
        rules.priorityKey = try priorityKey.map { try Self.path($0, of: "--priority-key") }
        rules.integrityKey = try integrityKey.map { try Self.path($0, of: "--integrity-key") }
        rules.icons = icons
        rules.iconSize = iconSize
        rules.limits.maximumEntries = maxEntries
        rules.limits.maximumUnpackedSize = maxManifestSize.bytes
        rules.limits.maximumUnpackingRatio = maxUnpackRatio
        rules.ipfsGateway = try HTTPURL.base(ipfsGateway, option: "--ipfs-gateway")
        return rules
    }

    private static func filled(_ base: String, size: Int) throws -> String {
        let filled = URLPlaceholders(base, size: size)
        if let placeholder = filled.unfilled {
            let name = placeholder.quoted(limit: 40)
            throw ValidationError("--base-url has the placeholder \(name), which nothing fills.")
        }
        return filled.text
    }

    private static func path(_ text: String, of option: String) throws -> ManifestPath {
        do {
            return try ManifestPath(text)
        } catch {
            throw ValidationError(
                "\(option) is not a path, such as feed.results or icons[*].src: \(error).")
        }
    }
}

extension IconSelection: ExpressibleByArgument {}

extension HTTPURL {
    static func base(_ text: String?, option: String = "--base-url") throws -> HTTPURL? {
        guard let text else { return nil }
        do {
            return try HTTPURL(text)
        } catch {
            let reason =
                switch error {
                case .unsupportedScheme(let scheme): "it has the scheme '\(scheme)'"
                case .relativeWithoutBase: "it has no scheme"
                case .malformed(let reason): reason
                }
            throw ValidationError("\(option) is not an absolute http or https URL: \(reason).")
        }
    }
}
