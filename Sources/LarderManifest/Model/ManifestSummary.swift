import LarderCore

/// The results of reading a manifest.
public struct ManifestSummary: Equatable, Sendable {
    /// The detected format.
    public internal(set) var format = ManifestFormat.json
    /// The number of entries, including skipped and failed entries.
    public internal(set) var entries = 0
    /// The paths that were used, or nil if the shape is unknown.
    package internal(set) var places: ManifestPlaces?
    /// The options whose path matched nothing.
    package internal(set) var unmet: [NamedPart] = []
    var unusedEntries: [ManifestPath] = []
    /// Suggestions, the best first. Empty unless the shape is unknown or no icon is usable.
    package internal(set) var suggestions: [ManifestSuggestion] = []
    /// The number of unread values that look like icons, such as those in a second list.
    package internal(set) var unread = 0
    package internal(set) var unreadPlaces: [UnreadPlace] = []
    package internal(set) var ignored: [IgnoredMember] = []
    private var unreadable = 0
    private(set) var usable = 0
    private(set) var failed = 0
    private var unfetched = 0
    var unusable: Int { failed + unfetched }
    private var demands = 0
    private var packages = 0
    /// The number of icons whose expected digest or size probably describes a package.
    package var ambiguousDemands: Int { packages * 2 > demands ? demands : 0 }

    /// A member of entries whose path can be set by an option.
    package enum NamedPart: String, Sendable {
        case name = "--name-key"
        case priority = "--priority-key"
        case integrity = "--integrity-key"

        package var warning: String { "no entry has a value at the \(rawValue) path" }
    }

    package struct UnreadPlace: Equatable, Sendable {
        /// The path from the manifest's root (`$`) or an entry (`@`).
        package let path: String
        package let count: Int
    }

    /// A member of entries that was ignored because its value does not describe an icon.
    package struct IgnoredMember: Equatable, Sendable {
        package enum Name: String, Sendable {
            case size, key, priority, sha256, integrity
            case wingetDigest = "IconSha256"
            case munkiDigest = "icon_hash"

            fileprivate var problem: String {
                switch self {
                case .size: "not a byte count"
                case .key: "not a valid key"
                case .priority: "neither a priority name nor an integer"
                case .sha256, .integrity, .wingetDigest, .munkiDigest: "empty or not a string"
                }
            }
        }

        package let name: Name
        package internal(set) var count: Int
        /// The number of the first entry whose member was ignored. Numbers start at 1.
        package let position: Int
    }

    mutating func count(_ item: ManifestItem, of content: Result<ManifestValue, EntryError>) {
        guard case .success(let element) = content else {
            // An unreadable entry has exactly one item.
            unreadable += 1
            return
        }
        switch item.result {
        case .failed: failed += 1
        case .unfetched: unfetched += 1
        case .skipped: return
        case .entry, .inline:
            usable += 1
            guard item.result.expectation.isDemanding else { return }
            demands += 1
            guard case .dictionary(let members) = element else { return }
            let hasPackage = ["download", "url", "package"].contains { members[$0] != nil }
            if hasPackage { packages += 1 }
        }
    }

    /// Returns an error if no entry has an icon value and the shape is unknown.
    public func refusal(of source: ManifestSource) -> ManifestError? {
        guard entries > 0, places == nil else { return nil }
        return ManifestError(
            .notAManifest, source: source.name, "\(noIcons); \(ManifestSuggestion.advice)"
        ).suggesting(suggestions)
    }

    private var noIcons: String {
        guard unreadable == 0 else { return "no readable entry has an icon" }
        return entries == 1
            ? "the only entry has no icon" : "none of the \(entries) entries has an icon"
    }

    /// Returns ``refusal(of:)``, or nil if an unreadable entry may have an icon.
    package func refusalIfAllWereRead(of source: ManifestSource) -> ManifestError? {
        unreadable == 0 ? refusal(of: source) : nil
    }

    /// Returns warnings about options that matched nothing, and about unusable or unread icons.
    public func warnings(of source: ManifestSource) -> [String] {
        guard places != nil else { return [] }
        var warnings = unmet.map(\.warning)
        warnings += unusedEntries.map { "no entry is at the --entries path \("\($0)".shellQuoted)" }
        if let words = ManifestSuggestion.words(suggestions) {
            let reason =
                switch unusable {
                case 0: noIcons
                case 1: "the only icon cannot be used"
                default: "none of the \(unusable) icons can be used"
                }
            warnings.append("\(reason); \(words)")
        }
        if unread > 0 {
            warnings.append(
                unread.of("value looks like an icon but was", "values look like icons but were")
                    + " not read; see --explain")
        }
        return warnings.map { "\(source.name.sanitizedForTerminal): \($0)" }
    }

    /// Returns messages about ignored members, and about missing entries or icons.
    public func notes(of source: ManifestSource) -> [String] {
        var notes = ignored.map { member in
            "'\(member.name.rawValue)' is \(member.name.problem) and was ignored"
                + (member.count == 1
                    ? " in entry \(member.position)"
                    : " \(member.count) times, first in entry \(member.position)")
        }
        if entries == 0 {
            notes = ["the manifest has no entries"]
        } else if usable + unusable + unreadable == 0, suggestions.isEmpty {
            notes.append("\(noIcons); --icon-template builds URLs from other members")
        }
        return notes.map { "\(source.name.sanitizedForTerminal): \($0)" }
    }

    /// Returns advice for a manifest in which no icon has the expected digest or size.
    public func remedyForDemands(of source: ManifestSource) -> String {
        let icon = places?.icons.first.map { "\($0)".shellQuoted } ?? "icon"
        return "\(source.name.sanitizedForTerminal): no icon has the digest or size that its entry"
            + " states; if digests and sizes describe a package, use"
            + " --icon-key \(icon) to ignore them"
    }
}

/// The paths to entries and their members, for `plan --explain`.
package struct ManifestPlaces: Equatable, Sendable {
    package let shape: String
    /// Empty if each line is an entry.
    package let entries: [ManifestPath]
    package let names: [ManifestPath]
    package let icons: [ManifestPath]
    /// The template of the icon's URL. It can contain a password.
    package let template: String?
    package let priority: ManifestPath?
    /// Nil if the digest is next to the icon.
    package let integrity: ManifestPath?
    package let base: HTTPURL?
    /// Whether the manifest itself states the base URL.
    package let hasOwnBase: Bool
}

/// The format of a manifest, detected from its content.
public enum ManifestFormat: String, Sendable, CaseIterable {
    /// An XML property list, with or without Apple's document type.
    case xmlPlist = "xml-plist"
    /// An XML document that is not a property list.
    case xml
    /// A property list that begins with `bplist00`.
    case binaryPlist = "binary-plist"
    /// One JSON document (RFC 8259), with or without comments.
    case json
    /// One JSON object on each line.
    case jsonLines = "json-lines"
    /// YAML 1.1 or 1.2, one document or several.
    case yaml
    /// One URL on each line, as for wget and aria2.
    case urlList = "url-list"
}
