import GRDB
import LarderCache
import LarderCore
import LarderManifest

/// A writer of localized manifests, which refer to icons from a cache. Values that are never
/// fetched stay the same. Missing and damaged icons keep their URLs, or get a placeholder.
package final class Localizer {
    package let edits: CatalogueEdits
    private let cache: Cache
    private let target: LocalizeTarget
    private let rules: ManifestRules
    private let hasPlaceholders: Bool
    private let isCancelled: () -> Bool
    private let start = ContinuousClock.now
    private var report = LocalizeReport()
    private var writer: ExportWriter?
    private var placeholder: String?

    private typealias Place = (span: Range<Int>, written: String, entry: Entry, key: String)

    /// - Parameter isCancelled: Polled regularly. After a cancellation, the output is incomplete.
    package init(
        _ cache: Cache, _ target: LocalizeTarget, rules: ManifestRules = .init(),
        hasPlaceholders: Bool = false, isCancelled: @escaping () -> Bool = { false }
    ) throws {
        (self.cache, self.target, self.rules) = (cache, target, rules)
        (self.hasPlaceholders, self.isCancelled) = (hasPlaceholders, isCancelled)
        edits = try CacheError.naming("the list of icon values") { try CatalogueEdits() }
    }

    /// Stores the icons durably, and then writes the manifest to `sink`.
    package func localize(
        _ catalogue: Catalogue, to sink: @escaping (UnsafeRawBufferPointer) throws -> Void
    ) throws -> LocalizeReport {
        do {
            try CacheError.naming("the list of icon values") {
                try read(catalogue)
                try writer?.flush()
                report.remaining += try catalogue.copy(
                    as: report.format, replacing: nextEdit, to: sink)
            }
        } catch is CancellationError { report.isInterrupted = true }
        report.seconds = (ContinuousClock.now - start) / .seconds(1)
        return report
    }

    private func nextEdit() throws -> CatalogueEdit? {
        if isCancelled() { throw CancellationError() }
        return try edits.next()
    }

    private func read(_ catalogue: Catalogue) throws {
        var page: [Place] = []
        let source = catalogue.source
        let reader = ManifestReader(source: source, rules: rules)
        let summary = try reader.read(unless: isCancelled) { item in
            if let place = try place(of: item) { page.append(place) }
            guard page.count >= DatabaseQueue.pageLimit else { return }
            try replace(page)
            page.removeAll(keepingCapacity: true)
        }
        if let refusal = summary.refusalIfAllWereRead(of: source) { throw refusal }
        (report.format, report.shape) = (summary.format, summary.places?.shape)
        report.hasBase = summary.places?.hasOwnBase ?? false
        try replace(page)
        // Corrects the counts for usable values of failed spans, which were counted as localized.
        try edits.database.forEachRow(
            """
            SELECT i.code, s.usable FROM spans s JOIN icons i ON i.id = s.icon
            WHERE s.usable > 0 AND i.code IS NOT NULL
            """
        ) { row in
            guard let code = ExportCode(rawValue: try row.requireText()) else { return }
            let count = Int(row.integer())
            report.localized -= count
            report.problems.noteAgain(code, count: count, hasPlaceholder: hasPlaceholders)
        }
        // Counts the URLs in failed spans that are not replaced.
        try edits.database.forEachRow(
            "SELECT i.written FROM spans s JOIN icons i ON i.id = s.icon WHERE i.new = ''"
        ) { noteRemaining(try $0.requireText()) }
    }

    /// Returns the place of an icon that may get a new value. Counts other values.
    private func place(of item: ManifestItem) throws -> Place? {
        if case .skipped = item.result {
            report.problems.noteSkipped(.noIcon)
            return nil
        }
        report.icons += 1
        var ownKey: String?
        if let value = item.value, target.isOwn(value.text) {
            guard case .server(let server) = target else {
                report.unchanged += 1
                return nil
            }
            // An icon of this server is looked up, too, because it may be missing from the cache.
            ownKey = LocalizeTarget.encodedKey(in: value.text, at: server).map {
                String(decoding: $0.utf8.percentDecoded, as: UTF8.self)
            }
        }
        switch item.result {
        case .entry(let entry):
            guard let value = item.value else {
                // `--icon-template` has built the URL, so the manifest has no value to replace.
                report.kinds["not-in-manifest", default: 0] += 1
                break
            }
            if !value.span.isEmpty {
                return (value.span, value.text, entry, ownKey ?? entry.resourceKey)
            }
            report.problems.note(
                ExportFailure(
                    .badEntry, name: entry.name, url: entry.writtenURL,
                    "the value's place in the file is unknown"))
        case .inline: report.kinds[IconValue.Kind.data.rawValue, default: 0] += 1
        case .unfetched(let kind): report.kinds[kind.rawValue, default: 0] += 1
        case .failed(let error): report.problems.noteBad(item, error)
        case .skipped: break
        }
        if let value = item.value?.text, ImageURLCounter.isURL(value) {
            try edits.add(Digest(of: Array(value.utf8)), written: value, new: nil)
            noteRemaining(value)
        }
        return nil
    }

    private func replace(_ page: [Place]) throws {
        let resources = try cache.resources(page.map(\.key))
        for (place, resource) in zip(page, resources) {
            if isCancelled() { throw CancellationError() }
            let wanted = place.entry.expectation
            let size = wanted.size.map { String($0) } ?? ""
            let parts = [place.written, place.key, wanted.digest?.hex ?? "", size]
            // Places with the same identity have the same replacement.
            let identity = Digest(of: Array(parts.joined(separator: "\0").utf8))
            var number: Int64
            var code: ExportCode?
            var isKept: Bool
            if let known = try edits.icon(identity) {
                (number, code, isKept) = known
                if let code { report.problems.noteAgain(code, hasPlaceholder: hasPlaceholders) }
            } else {
                var (new, failure) = try replacement(of: place, resource?.object)
                if new?.isSame(as: place.written) == true { new = nil }
                (code, isKept) = (failure?.code, new == nil)
                number = try edits.add(identity, written: place.written, new: new, code: code)
                if let failure { report.problems.note(failure, hasPlaceholder: hasPlaceholders) }
            }
            if code == nil, isKept {
                report.unchanged += 1
                continue
            }
            if code == nil { report.localized += 1 }
            try edits.add(place.span, number: number)
        }
    }

    /// Counts a URL that is not replaced, unless the search for URLs in the output counts it.
    private func noteRemaining(_ value: String) {
        if ImageURLCounter.isURL(value), !ImageURLCounter.isFound(in: value), !target.isOwn(value) {
            report.remaining += 1
        }
    }

    private func replacement(
        of place: Place, _ object: StoredObject?
    ) throws -> (new: String?, failure: ExportFailure?) {
        var failure: (code: ExportCode, message: String)?
        if let object = object.map(cache.sized) {
            failure = place.entry.expectation.failure(of: object)
            if failure == nil, case .data(let limit) = target, object.size > limit {
                let message = "\(object.size) bytes, more than --max-data allows (\(limit) bytes)"
                failure = (.tooLarge, message)
            }
            do {
                if failure == nil { return (try value(of: place, object), nil) }
            } catch let error as CacheError { failure = try cache.exportFailure(of: error, object) }
        }
        let (code, message) =
            failure ?? (.missing, "not in the cache; a prefetch downloads the icon")
        return (
            hasPlaceholders ? try placeholderValue() : nil,
            ExportFailure(code, name: place.entry.name, url: place.entry.writtenURL, message)
        )
    }

    private func value(of place: Place, _ object: StoredObject) throws -> String {
        switch target {
        case .server(let server):
            guard try cache.isPresent(object.digest, size: object.size) else {
                throw CacheError(
                    .corrupt, subject: "\(object.digest)", message: "the object is damaged")
            }
            return LocalizeTarget.url(of: place.key, at: server)
        case .data:
            return LocalizeTarget.dataURL(try cache.bytes(of: object), mediaType: object.mediaType)
        case .icons(let directory, let prefix):
            let name = try name(of: place.entry, object)
            let placement = try writer(in: directory).place(Rendition(object), as: name)
            if placement != .unchanged {
                report.files += 1
                report.bytes += object.size
            }
            return prefix + name
        }
    }

    /// Returns a file name with eight digits of the digest, or more if another object has the name.
    private func name(of entry: Entry, _ object: StoredObject) throws -> String {
        let stem = SafeName.stem(of: entry.writtenURL)
        let suffix = ImageFile.suffix(of: object.mediaType)
        for count in [8, 16] {
            let name = "\(stem)-\(object.digest.hex.prefix(count)).\(suffix)"
            if try edits.take(name, for: object.digest) { return name }
        }
        return "\(stem)-\(object.digest.hex).\(suffix)"
    }

    private func writer(in directory: String) throws -> ExportWriter {
        if let writer { return writer }
        // The icons are published, so other programs may change their modes and owners.
        let made = try ExportWriter(
            directory, cache: cache, mayLink: false, isCancelled: isCancelled)
        writer = made
        return made
    }

    private func placeholderValue() throws -> String {
        if let placeholder { return placeholder }
        let bytes = Array(PlaceholderIcon.svg.utf8)
        let value: String
        if case .icons(let directory, let prefix) = target {
            let name = "missing-\(Digest(of: bytes).hex.prefix(8)).svg"
            try writer(in: directory).write(bytes, as: name)
            value = prefix + name
        } else {
            value = LocalizeTarget.dataURL(bytes, mediaType: "image/svg+xml")
        }
        placeholder = value
        return value
    }
}

package struct LocalizeReport: Sendable {
    package internal(set) var format = ManifestFormat.json
    package internal(set) var shape: String?
    package internal(set) var hasBase = false
    /// The sum of ``localized``, ``unchanged``, ``kinds``, and the placeholders and failures.
    package internal(set) var icons = 0
    package internal(set) var localized = 0
    package internal(set) var unchanged = 0
    package internal(set) var kinds: [String: Int] = [:]  // text: kinds
    package internal(set) var problems = ItemFailures<ExportCode>()
    /// The number of image URLs (http and https) in the output.
    package internal(set) var remaining = 0
    package internal(set) var files = 0
    package internal(set) var bytes: Int64 = 0
    package internal(set) var isInterrupted = false
    package internal(set) var seconds: Double = 0

    package var hasChanges: Bool { localized + problems.placeholders > 0 }
}

package final class CatalogueEdits {
    fileprivate let database: DatabaseQueue
    private var last: Int64 = -1

    package init() throws {
        database = try .scratch(
            """
            CREATE TABLE main.icons (
                id INTEGER PRIMARY KEY, identity BLOB NOT NULL UNIQUE, written TEXT NOT NULL,
                new TEXT NOT NULL, code TEXT
            );
            CREATE TABLE main.spans (
                start INTEGER PRIMARY KEY, length INTEGER NOT NULL, icon INTEGER NOT NULL,
                usable INTEGER NOT NULL
            );
            CREATE TABLE main.files (name TEXT PRIMARY KEY, digest BLOB NOT NULL) WITHOUT ROWID;
            """)
    }

    func icon(_ identity: Digest) throws -> (number: Int64, code: ExportCode?, isKept: Bool)? {
        try database.unsafeRead { db in
            try db.prepared("SELECT id, code, new = '' FROM icons WHERE identity = ?")
                .rows(identity) {
                    let (number, code) = ($0.integer(), $0.text().flatMap(ExportCode.init))
                    return (number: number, code: code, isKept: $0.bool())
                }.first
        }
    }

    /// Adds the icon unless it is known, and returns its number. A nil replacement keeps the value.
    @discardableResult
    package func add(
        _ identity: Digest, written: String, new: String?, code: ExportCode? = nil
    ) throws -> Int64 {
        try database.writeWithoutTransaction { db in
            try db.prepared("INSERT OR IGNORE INTO icons VALUES (NULL, ?, ?, ?, ?)")
                .run(identity, written, new ?? "", code?.rawValue)
            return try db.prepared("SELECT id FROM icons WHERE identity = ?")
                .firstInteger(identity) ?? 0
        }
    }

    /// Records the span of a value. YAML merges can give a span several values. The outcome of the
    /// span is that of the first value that failed, or of the first value if none failed.
    package func add(_ span: Range<Int>, number: Int64) throws {
        try database.writeWithoutTransaction { db in
            try db.prepared(
                """
                INSERT INTO spans SELECT ?, ?, id, code IS NULL FROM icons WHERE id = ?
                ON CONFLICT (start) DO UPDATE SET
                    icon = iif(
                        (SELECT code FROM icons WHERE id = spans.icon) IS NULL
                            AND excluded.usable = 0, excluded.icon, spans.icon),
                    usable = spans.usable + excluded.usable
                """
            ).run(span.lowerBound, span.count, number)
        }
    }

    /// Reserves a name, ignoring case. Returns false if it belongs to another object.
    func take(_ name: String, for digest: Digest) throws -> Bool {
        let name = SafeName.folded(name)
        return try database.writeWithoutTransaction { db in
            try db.prepared("INSERT OR IGNORE INTO files VALUES (?, ?)").run(name, digest)
            return try db.prepared("SELECT digest = ? FROM files WHERE name = ?")
                .firstInteger(digest, name) == 1
        }
    }

    package func next() throws -> CatalogueEdit? {
        let edit = try database.unsafeRead { db in
            try db.prepared(
                """
                SELECT s.start, s.length, i.id, i.new FROM spans s JOIN icons i ON i.id = s.icon
                WHERE s.start > ? AND i.new <> '' ORDER BY s.start LIMIT 1
                """
            ).rows(last) { row in
                let start = Int(row.integer())
                return CatalogueEdit(
                    span: start..<start + Int(row.integer()), number: row.integer(),
                    text: try row.requireText())
            }.first
        }
        if let edit { last = Int64(edit.span.lowerBound) }
        return edit
    }

    /// Calls `body` with each value and its replacement, or nil. Omits values with several.
    package func forEachIcon(_ body: (_ written: String, _ new: String?) throws -> Void) throws {
        try database.forEachRow(
            """
            SELECT written, nullif(max(new), '')
            FROM (SELECT written, iif(id IN (SELECT icon FROM spans), new, '') AS new FROM icons)
            GROUP BY written HAVING min(nullif(new, '')) IS max(nullif(new, ''))
            """
        ) { try body($0.requireText(), $0.text()) }
    }
}
