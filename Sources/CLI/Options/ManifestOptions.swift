import ArgumentParser
import Foundation
import LarderCache
import LarderCore
import LarderImages
import LarderManifest
import LarderPrefetch

/// The manifests, and the part of their hosts that a worker processes.
struct ManifestOptions: ParsableArguments {
    @Argument(
        help: .common(
            "A file, an http or https URL, or - for standard input. The format is a property list, "
                + "XML, JSON, JSON Lines, YAML or a list of URLs, with or without gzip.",
            "manifest"), completion: .manifest)
    var manifests: [String]

    private static let formats = ImageFormat.all.map(\.mediaType.name).joined(separator: ", ")

    @Flag(help: .rare("Accept files that are not images (\(Self.formats)).")) var anyContent = false

    @Option(
        name: .customLong("shard"),
        help: .common(
            "Process only the hosts of worker i of n, counted from 0, for example 0/8. auto/n "
                + "takes i from Kubernetes, Slurm or GNU parallel. auto takes both from Slurm.",
            "i/n"), transform: ShardName.parse)
    var shardName: ShardName?

    @Option(
        help: .rare(
            "Divide the icons on this host into k parts for several workers, which share the "
                + "limits per host. Must be the same for all workers. May be repeated.", "host=k"))
    var splitHost: [String] = []

    func sources() throws -> [ManifestSource] { try manifests.map(Self.source) }

    static func source(_ text: String) throws -> ManifestSource {
        if text == "-" { return .standardInput }
        return try url(text).map { .url($0) } ?? .file(text)
    }

    static func url(_ text: String) throws -> HTTPURL? {
        let scheme = text.prefix { $0.isASCII && ($0.isLetter || $0.isNumber) }
        guard !scheme.isEmpty, text.dropFirst(scheme.count).hasPrefix(":/") else { return nil }
        // The URL is not quoted, because it may contain a password.
        let isHTTP = ["http", "https"].contains(scheme.lowercased())
        let reason = isHTTP ? "is not valid" : "has the scheme '\(scheme)' instead of http or https"
        return try validated({ _ in "The URL of a manifest \(reason)." }) { try HTTPURL(text) }
    }

    func validate() throws {
        if manifests.isEmpty { throw ValidationError("At least one manifest is required.") }
        try LocalManifests.validate(manifests)
        try refuse(if: shardName == nil && !splitHost.isEmpty, "--split-host needs --shard.")
        let hosts = Set(try splits().map(\.host))
        try refuse(if: hosts.count < splitHost.count, "--split-host names a host twice.")
        _ = try shard
    }

    func validate(perHost: Int) throws {
        let pieces = try splits().map(\.pieces).max() ?? 0
        try refuse(
            if: pieces > perHost,
            "--split-host divides a host into \(pieces) parts, but --max-per-host is \(perHost). "
                + "Each part needs a request: use --max-per-host \(pieces) or more.")
    }

    var shard: Shard? { get throws { try shardName?.shard(splits: splits()) } }

    private func splits() throws -> [HostSplit] {
        let allowed = HostSplit.allowedPieces
        let form =
            "HOST=K: a host without a scheme, port or path, and a number from "
            + "\(allowed.lowerBound) to \(allowed.upperBound)"
        return try ConnectionOptions.parse(splitHost, "--split-host", form) { text in
            let parts = text.split(separator: "=", omittingEmptySubsequences: false)
            guard parts.count == 2, let pieces = Int(parts[1]) else { return nil }
            return HostSplit(host: String(parts[0]), pieces: pieces)
        }
    }
}

struct ManifestSelection: ParsableArguments {
    @Option(
        help: .common(
            "Use the icons in this manifest. May be repeated. (required for import and pull; "
                + "default for export and push: all icons in the cache)", "manifest"),
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
        sources = try names.map { try Self.source($0, cache: cache) }
    }

    static func source(_ name: String, cache: Cache?) throws -> ManifestSource {
        try ManifestOptions.source(name).cached { try cache?.manifest($0)?.file }
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

    /// Calls `body` with each key. Returns whether there were none. If `mustBeUsable`, throws if an
    /// entry is unusable or there are no icons.
    @discardableResult
    func forEachKey(mustBeUsable: Bool = false, _ body: (String) throws -> Void) throws -> Bool {
        var isEmpty = true
        for source in sources {
            try source.forEachKey(rules: rules, mustBeUsable: mustBeUsable) { key in
                isEmpty = false
                try body(key)
            }
        }
        if mustBeUsable, isEmpty {
            throw ManifestError(
                .empty, source: sources.map(\.name).joined(separator: ", "),
                "no entry names an icon, so every object would be removed")
        }
        try ownKeys.forEach(body)
        return isEmpty && ownKeys.isEmpty
    }

    static func isURL(_ text: String) -> Bool {
        let start = text.prefix(8).lowercased()
        return start.hasPrefix("http://") || start.hasPrefix("https://")
    }
}

/// Options for reading manifests. Commands need them to find the icons that a prefetch stored.
struct ReadingOptions: ParsableArguments {
    @OptionGroup var entry: EntryOptions

    @Option(help: .rare("The icons to use if an entry has several.")) var icons = IconSelection.all

    func validate(for manifests: [String]) throws {
        try refuse(
            if: manifests.isEmpty && rules() != ManifestRules(),
            "Options for reading manifests require --manifest.")
    }

    func rules() throws -> ManifestRules {
        var rules = try entry.rules()
        rules.icons = icons
        return rules
    }
}

struct EntryOptions: ParsableArguments {
    @Option(help: .common("Resolve relative icon URLs against this URL.", "url"))
    var baseURL: String?

    @Option(
        help: .common(
            "The path of the entries, such as feed.results. May be repeated. (default: detected)",
            "path"))
    var entries: [String] = []

    @Option(help: .rare("The path of the name in an entry.", "path")) var nameKey: String?

    @Option(
        help: .common(
            "The path of the icons in an entry, such as logo or icons[*].src. May be repeated.",
            "path"))
    var iconKey: [String] = []

    @Option(
        help: .rare(
            "Build the URL of each icon from members of its entry, such as "
                + "https://a.example/{id}.png. With --icon-key, applies only to entries without an "
                + "icon at that path.", "url"))
    var iconTemplate: String?

    @Option(
        help: .rare(
            "Download the icons of a set from this URL, for example "
                + "mdi=https://a.example/{name}.svg for mdi:home. May be repeated.", "set=url"))
    var iconSet: [String] = []

    @Option(help: .rare("The path of the priority in an entry.", "path")) var priorityKey: String?

    @Option(
        help: .rare(
            "The path of the digest in an entry. A digest is sha256-… or 64 hexadecimal digits.",
            "path"))
    var integrityKey: String?

    @Option(
        help: .rare(
            "The number of pixels for {size}, {width}, {height}, {w} and {h} in icon URLs.", "n"))
    var iconSize = 512

    @Option(help: .rare("Download ipfs: URLs from this gateway, such as https://ipfs.io.", "url"))
    var ipfsGateway: String?

    @Option(
        help: .rare(
            "The maximum number of entries. An entry counts once for each of its icons.", "n"))
    var maxEntries = ManifestLimits().maximumEntries

    @Option(
        help: .rare(
            "The maximum size of a downloaded manifest, or of one unpacked from gzip. (default: "
                + "256MiB)", "size"), transform: ByteCount.parse)
    var maxManifestSize = ManifestLimits().maximumUnpackedSize

    @Option(
        help: .rare(
            "The maximum ratio of unpacked to compressed size of a gzip file that unpacks to more "
                + "than 16MiB.", "n"))
    var maxUnpackRatio = ManifestLimits().maximumUnpackingRatio

    func validate() throws {
        for (option, value) in [
            ("--icon-size", Int64(iconSize)), ("--max-entries", Int64(maxEntries)),
            ("--max-manifest-size", maxManifestSize), ("--max-unpack-ratio", Int64(maxUnpackRatio)),
        ] where value <= 0 { throw ValidationError("\(option) must be at least 1.") }
        _ = try rules()
    }

    func rules() throws -> ManifestRules {
        func path(_ text: String, of option: String) throws -> ManifestPath {
            try parse(option, "a path, such as feed.results or icons[*].src") {
                try ManifestPath(text)
            }
        }
        func parse<Value>(
            _ option: String, _ wanted: String, _ body: () throws -> Value
        ) throws -> Value {
            try validated({ "\(option) needs \(wanted): \($0)." }, body)
        }
        let base = baseURL.map { URLPlaceholders($0, size: iconSize) }
        if let name = base?.unfilled?.quoted(limit: 40) {
            throw ValidationError("--base-url has the unknown placeholder \(name).")
        }
        var rules = ManifestRules(baseURL: try HTTPURL.base(base?.text))
        rules.entries = try entries.map { try path($0, of: "--entries") }
        try refuse(
            if: rules.entries.contains(where: \.isFilter),
            "--entries can have a filter only at its end: a manifest is read in one pass.")
        rules.nameKey = try nameKey.map { try path($0, of: "--name-key") }
        rules.iconKeys = try iconKey.map { try path($0, of: "--icon-key") }
        rules.priorityKey = try priorityKey.map { try path($0, of: "--priority-key") }
        rules.integrityKey = try integrityKey.map { try path($0, of: "--integrity-key") }
        rules.iconTemplate = try iconTemplate.map { text in
            try parse("--icon-template", "a URL with members in braces") { try IconTemplate(text) }
        }
        rules.iconSets = try iconSet.map { text in
            try parse("--icon-set", "a set and a URL, such as mdi=https://…/{name}.svg") {
                try IconSet(text)
            }
        }
        rules.iconSize = iconSize
        rules.limits.maximumEntries = maxEntries
        rules.limits.maximumUnpackedSize = maxManifestSize
        rules.limits.maximumUnpackingRatio = maxUnpackRatio
        rules.ipfsGateway = try HTTPURL.base(ipfsGateway, option: "--ipfs-gateway")
        return rules
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
