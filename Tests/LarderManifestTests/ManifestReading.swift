@testable import LarderCore
@testable import LarderManifest

/// The result of reading a manifest.
struct ManifestReading {
    var items: [ManifestItem] = []
    /// The summary without its places.
    var summary: ManifestSummary?
    var places: ManifestPlaces?
    /// The places of icons that were not read, as path and count.
    var unread: [String] = []
    var unreadCount = 0
    /// Members that were not used, as name, count and first position.
    var ignored: [String] = []
    var suggestions: [String] = []

    /// One word for each element: the URL or the key of the icon, `skipped`, or the error code.
    var words: [String] {
        items.map { item in
            switch item.result {
            case .entry(let entry): entry.icon.string
            case .inline(let entry): entry.resourceKey
            case .skipped: "skipped"
            case .unfetched(let kind): kind.rawValue
            case .failed(let error): error.code.rawValue
            }
        }
    }

    /// The position, number, name and URL of every icon.
    var icons: [String] {
        zip(items, words).map { "\($0.position).\($0.icon) \($0.name ?? "") \($1)" }
    }

    var entries: [Entry] {
        items.compactMap { if case .entry(let entry) = $0.result { entry } else { nil } }
    }

    var errors: [EntryError] {
        items.compactMap { if case .failed(let error) = $0.result { error } else { nil } }
    }
}

extension Entry {
    var expectedDigest: Digest? { expectation.digest }
    var expectedSize: Int64? { expectation.size }
}

extension ManifestSummary {
    init(format: ManifestFormat, entries: Int) {
        self.init()
        self.format = format
        self.entries = entries
    }
}

func readManifest(
    _ source: ManifestSource, base: String? = nil, rules: ManifestRules = .init(),
    limits: ManifestLimits = .init()
) throws -> ManifestReading {
    var rules = rules
    rules.limits = limits
    if let base { rules.baseURL = try HTTPURL(base) }
    var reading = ManifestReading()
    let summary = try ManifestReader(source: source, rules: rules)
        .read { reading.items.append($0) }
    reading.summary = ManifestSummary(format: summary.format, entries: summary.entries)
    reading.places = summary.places
    reading.unread = summary.unreadPlaces.map { "\($0.path) \($0.count)" }
    reading.unreadCount = summary.unread
    reading.ignored = summary.ignored.map { "\($0.name.rawValue) \($0.count) \($0.position)" }
    reading.suggestions = summary.suggestions.map(\.options)
    return reading
}

func readManifest(
    _ text: String, base: String? = nil, rules: ManifestRules = .init(),
    limits: ManifestLimits = .init()
) throws -> ManifestReading {
    try readManifest(
        .bytes(Array(text.utf8), name: "test"), base: base, rules: rules, limits: limits)
}

/// Returns the error that ends the reading, or nil without an error.
func manifestError(
    _ source: ManifestSource, limits: ManifestLimits = .init()
) throws -> ManifestError? {
    do {
        _ = try readManifest(source, limits: limits)
        return nil
    } catch let error as ManifestError {
        return error
    }
}

func manifestError(_ text: String, limits: ManifestLimits = .init()) throws -> ManifestError? {
    try manifestError(.bytes(Array(text.utf8), name: "test"), limits: limits)
}

/// Returns an XML property list that contains `content`.
func xmlPlist(_ content: String) -> String {
    """
    <?xml version="1.0" encoding="UTF-8"?>
    <!DOCTYPE plist PUBLIC "-//Apple//DTD PLIST 1.0//EN" \
    "http://www.apple.com/DTDs/PropertyList-1.0.dtd">
    <plist version="1.0">
    \(content)
    </plist>

    """
}
