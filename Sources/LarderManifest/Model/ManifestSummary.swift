import LarderCore

/// What reading a manifest to its end has shown.
public struct ManifestSummary: Equatable, Sendable {
    /// The format that the content turned out to be.
    public internal(set) var format = ManifestFormat.json
    /// The number of entries, the skipped and the failed ones included.
    public internal(set) var entries = 0
    /// Where its entries and their parts were; nil if no entry has shown it.
    public internal(set) var places: ManifestPlaces?
    /// The parts that the rules name a place for, but no entry has.
    public internal(set) var unmet: [NamedPart] = []
    /// Where icons may be if no entry shows a shape or no icon can be used, the likeliest first.
    public internal(set) var suggestions: [ManifestSuggestion] = []
    /// Values that look like icons and were not read, for example in a second list. Default: 0.
    public internal(set) var unread = 0
    /// Where the first of these are.
    public internal(set) var unreadPlaces: [UnreadPlace] = []
    /// Members of entries that were not used because they mean something else.
    public internal(set) var ignored: [IgnoredMember] = []
    private var unreadable = 0
    private(set) var usable = 0
    private(set) var failed = 0
    private var demands = 0
    /// Those whose entry also has a package, which the demand may describe.
    private var packages = 0
    /// ``demands`` if most of their entries also have a package, else 0.
    package var ambiguousDemands: Int { packages * 2 > demands ? demands : 0 }

    /// A part of an entry whose place may be named, by the option that names it.
    public enum NamedPart: String, Sendable {
        case name = "--name-key"
        case priority = "--priority-key"
        case integrity = "--integrity-key"

        package var warning: String { "no entry has anything where \(rawValue) says" }
    }

    /// A path to values that look like icons and were not read.
    public struct UnreadPlace: Equatable, Sendable {
        /// The path, from the manifest's root (`$`) or from an entry (`@`).
        public let path: String
        /// The number of these values.
        public let count: Int
    }

    /// A member of entries that is ignored: its type or form shows that it is not about the icon.
    public struct IgnoredMember: Equatable, Sendable {
        /// The members that describe an icon in the plain form.
        public enum Name: String, Sendable {
            case size, key, priority, sha256, integrity

            fileprivate var problem: String {
                switch self {
                case .size: "not a byte count"
                case .key: "not a valid key"
                case .priority: "neither a priority's name nor an integer"
                case .sha256, .integrity: "empty or not a string"
                }
            }
        }

        /// The member's name.
        public let name: Name
        /// The number of icons or entries with this member.
        public internal(set) var count: Int
        /// The position of the first entry with this member.
        public let position: Int
    }

    init(format: ManifestFormat = .json, entries: Int = 0) {
        self.format = format
        self.entries = entries
    }

    mutating func count(
        _ icons: [ManifestItem.Result], of content: Result<ManifestValue, EntryError>
    ) {
        guard case .success(let element) = content else {
            unreadable += 1
            return
        }
        for icon in icons {
            switch icon {
            case .failed: failed += 1
            case .skipped: continue
            case .entry, .inline:
                usable += 1
                guard icon.expectation.isDemanding else { continue }
                demands += 1
                guard case .dictionary(let members) = element else { continue }
                let hasPackage = ["download", "url", "package"].contains { members[$0] != nil }
                if hasPackage { packages += 1 }
            }
        }
    }

    /// Returns the error of a manifest whose entries have no icon value at all; nil for others.
    public func refusal(of source: ManifestSource) -> ManifestError? {
        guard entries > 0, places == nil || usable == 0 && failed == 0 && unreadable == 0 else {
            return nil
        }
        return ManifestError(
            .notAManifest, source: source.name,
            (entries == 1
                ? "its only entry has no icon" : "none of its \(entries) entries has an icon")
                + ": \(ManifestSuggestion.advice)"
        ).suggesting(suggestions)
    }

    /// The same, but nil if an entry could not be read: it may have had an icon.
    package func refusalIfAllWereRead(of source: ManifestSource) -> ManifestError? {
        unreadable == 0 ? refusal(of: source) : nil
    }

    /// Returns lines about icons that are probably wanted and were not read, and about places that
    /// were named in vain: a digest that is not found is not checked.
    public func warnings(of source: ManifestSource) -> [String] {
        guard places != nil else { return [] }
        var warnings = unmet.map(\.warning)
        if let words = ManifestSuggestion.words(suggestions) {
            warnings.append(
                (failed == 1 ? "its only icon cannot" : "none of its \(failed) icons can")
                    + " be used; \(words)")
        }
        if unread > 0 {
            warnings.append(
                unread.of("value looks like an icon but was", "values look like icons but were")
                    + " not read; see --explain")
        }
        return warnings.map { "\(source.name.sanitizedForTerminal): \($0)" }
    }

    /// Returns a line for each kind of member that is not used.
    public func notes(of source: ManifestSource) -> [String] {
        ignored.map { member in
            "\(source.name.sanitizedForTerminal): '\(member.name.rawValue)' is"
                + " \(member.name.problem) and is ignored"
                + (member.count == 1
                    ? ", in entry \(member.position)"
                    : ", \(member.count) times, first in entry \(member.position)")
        }
    }

    /// Returns a line for a manifest in which no icon has the demanded digest or size.
    public func remedyForDemands(of source: ManifestSource) -> String {
        let icon = places?.icons.first.map { "\($0)".shellQuoted } ?? "icon"
        return
            "\(source.name.sanitizedForTerminal): no icon has the digest or size that its entry"
            + " states; if these are of a package, --icon-key \(icon) ignores them"
    }
}

/// Where a manifest's entries and their parts were looked for: what `plan --explain` shows.
public struct ManifestPlaces: Equatable, Sendable {
    /// The shape's name, such as `F-Droid index v2`.
    public let shape: String
    /// Where entries were found; empty if each line is one.
    public let entries: [ManifestPath]
    /// Where an entry's name may be; the first that is there counts.
    public let names: [ManifestPath]
    /// Where an entry's icons may be; all count.
    public let icons: [ManifestPath]
    /// Where its priority is; nil if it has none.
    public let priority: ManifestPath?
    /// Where its digest is, if not beside the icon.
    public let integrity: ManifestPath?
    /// What relative icon URLs were resolved against; nil if there was nothing.
    public let base: HTTPURL?
}

/// The formats that manifests are written in, told apart by content.
public enum ManifestFormat: String, Sendable, CaseIterable {
    /// A property list in XML, with or without Apple's document type.
    case xmlPlist = "xml-plist"
    /// A property list that begins with `bplist00`.
    case binaryPlist = "binary-plist"
    /// One JSON document (RFC 8259).
    case json
    /// One JSON object a line.
    case jsonLines = "json-lines"
    /// One URL a line, as wget and aria2 take it.
    case urlList = "url-list"
}
