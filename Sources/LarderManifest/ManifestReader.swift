/// A reader that streams the entries of a manifest. Reading is the first stage of a prefetch.
///
/// Detects the format and reads in one pass. ``ManifestLimits`` bounds the memory.
public struct ManifestReader: Sendable {
    private let source: ManifestSource
    private let rules: ManifestRules
    private var limits: ManifestLimits { rules.limits }

    /// Creates a reader. Each call of ``read(_:)`` opens the source.
    public init(source: ManifestSource, rules: ManifestRules = .init()) {
        self.source = source
        self.rules = rules
    }

    /// Calls `body` with every icon, and every skipped or failed element, in order. Blocks the
    /// calling thread.
    ///
    /// - Throws: The errors of `body`, and ``ManifestError`` if the file cannot be read or is not a
    ///   manifest. Some errors are found only after `body` has been called.
    public func read(_ body: (ManifestItem) throws -> Void) throws -> ManifestSummary {
        try read(opened: { _ in }, body)
    }

    package func read(
        unless isCancelled: () -> Bool, _ body: (ManifestItem) throws -> Void
    ) throws -> ManifestSummary {
        try withoutActuallyEscaping(isCancelled) { isCancelled in
            var input: ByteInput?
            defer { input?.isCancelled = { false } }
            return try read(opened: {
                $0.isCancelled = isCancelled
                input = $0
            }) { item in
                if isCancelled() { throw CancellationError() }
                try body(item)
            }
        }
    }

    /// - Parameter values: Called before `body` with all values at an entry's icon paths, in order.
    package func read(
        opened: (ByteInput) -> Void,
        values: ((_ position: Int, _ values: [IconValue]) throws -> Void)? = nil,
        _ body: (ManifestItem) throws -> Void
    ) throws -> ManifestSummary {
        let input = try source.open()
        opened(input)
        // For a source that cannot be opened again, suggestions come from its first bytes.
        let isFile = source.isOnDisk
        if !isFile { input.keepsFirst = ManifestSurvey.maximumKept }
        do throws(any Error) {
            var summary = try read(input, values: values, body)
            if summary.entries > 0, summary.places == nil || summary.usable == 0 {
                let found = suggestions(from: isFile ? nil : input.first)
                // If the best suggestion repeats this reading's paths, only a base URL is missing.
                let known = summary.places?.icons ?? []
                let isKnown = found.first.map { $0.isRelative && $0.isAny(of: known) } ?? false
                if !isKnown { summary.suggestions = found }
            }
            return summary
        } catch let error as ManifestError where error.code == .notAManifest {
            throw error.suggesting(suggestions(from: isFile ? nil : input.first))
        }
    }

    private func suggestions(from first: [UInt8]?) -> [ManifestSuggestion] {
        ManifestSurvey.suggestions(
            for: first.map { .bytes($0, name: source.name) } ?? source,
            isPart: first?.count == ManifestSurvey.maximumKept, rules: rules)
    }

    func read(
        _ input: ByteInput, values: ((Int, [IconValue]) throws -> Void)? = nil,
        _ body: (ManifestItem) throws -> Void
    ) throws -> ManifestSummary {
        try withoutActuallyEscaping(body) { body in
            let recognition = ShapeRecognition(rules)
            let ignored = IgnoredMembers()
            let keyed = KeyedIcons()
            var current: (shape: Int, bases: Int, decoder: EntryDecoder)?
            var summary = ManifestSummary()
            var total = 0
            var hasCredentials = false
            let parts: [(ManifestSummary.NamedPart, ManifestPath?)] = [
                (.name, rules.nameKey), (.priority, rules.priorityKey),
                (.integrity, rules.integrityKey),
            ]
            var unmet = parts.compactMap { part, path in path.map { (part: part, path: $0) } }
            summary.format = try read(input, recognition) { entry in
                if current?.shape != entry.shape || current?.bases != recognition.bases {
                    let shape = recognition.shapes[entry.shape]
                    let urls = IconURLs(
                        rules, base: shape.base == nil ? nil : recognition.base,
                        origin: input.baseURL)
                    hasCredentials = hasCredentials || urls.hasCredentials
                    let decoder = EntryDecoder(
                        shape: shape, urls: urls, ignored: ignored, keyed: keyed)
                    current = (entry.shape, recognition.bases, decoder)
                }
                guard let decoder = current?.decoder else { return }
                summary.entries += 1
                let position = summary.entries
                if !unmet.isEmpty, case .success(let element) = entry.content {
                    unmet.removeAll { recognition.adapted($0.path).first(in: element) != nil }
                }
                // Only manifests that a prefetch caches need this check.
                if input.whenRead != nil, !hasCredentials {
                    hasCredentials = decoder.urls.findCredentials(in: entry)
                }
                ignored.position = position
                if let values, case .success(let element) = entry.content {
                    try values(position, decoder.values(of: element))
                }
                let items = decoder.decode(entry, at: position)
                total += items.count
                guard total <= limits.maximumEntries else {
                    throw ManifestError(
                        .tooLarge, source: source.name, at: entry.line.map { .line($0) },
                        "more than \(limits.maximumEntries) entries, counting each icon;"
                            + " use --max-entries to allow more")
                }
                let usable = summary.usable
                for item in items {
                    summary.count(item, of: entry.content)
                    try body(item)
                }
                if !recognition.namesIcons, case .success(let element) = entry.content {
                    let hasIcon = summary.usable > usable
                    recognition.unread.look(at: element, reading: decoder.paths, hasIcon: hasIcon)
                }
            }
            try input.whenRead?(hasCredentials)
            summary.places = recognition.places(base: current?.decoder.urls.baseURL)
            summary.unmet = unmet.map(\.part)
            summary.unusedEntries = rules.entries.filter { path in
                let paths = [path.segments, path.segments + [.elements]]
                return !recognition.used.contains { paths.contains($0.segments) }
            }
            summary.unread = recognition.unread.count
            summary.unreadPlaces = recognition.unread.all
            summary.ignored = ignored.all
            return summary
        }
    }

    private func read(
        _ input: ByteInput, _ recognition: ShapeRecognition,
        _ emit: @escaping (RawEntry) throws -> Void
    ) throws -> ManifestFormat {
        let (format, window) = try ManifestFormat.open(input, limits: limits)
        let document = ManifestDocument(window: window, limits: limits, recognition: recognition)
        switch format {
        case .xmlPlist, .xml: return try document.readXML(emit)
        case .binaryPlist: try document.readBinaryPlist(emit)
        case .json, .jsonLines: return try document.readJSON(emit)
        case .yaml: try document.readYAML(emit)
        case .urlList: try document.readURLList(emit)
        }
        return format
    }
}
