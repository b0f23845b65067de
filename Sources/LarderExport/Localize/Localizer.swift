import GRDB
import LarderCache
import LarderCore
import LarderManifest

package struct LocalizeConfiguration: Sendable {
    package var target: LocalizeTarget
    package var manifestRules = ManifestRules()
    /// Whether missing icons get a placeholder instead of keeping their URLs.
    package var hasPlaceholders = false

    package init(_ target: LocalizeTarget) { self.target = target }
}

/// A writer of the same manifest with icons from a cache.
///
/// Values that are never fetched stay. Icons that are missing or damaged keep their URLs.
package final class Localizer {
    /// The replacements of the last run.
    package let edits: CatalogueEdits
    private let cache: Cache
    private let configuration: LocalizeConfiguration
    private let isCancelled: () -> Bool
    private let onProgress: (ObjectProgress) -> Void
    private let start = ContinuousClock.now
    private var report = LocalizeReport()
    private var writer: ExportWriter?
    private var known: [Digest: Outcome] = [:]
    private var placeholder: String?
    /// URLs that stay and are not looked up.
    private var kept: [String] = []

    private static let knownLimit = 4096

    private struct Place {
        let span: Range<Int>
        let written: String
        let entry: Entry
        let expectation: Expectation

        /// Places with the same identity have the same outcome.
        var identity: Digest {
            let size = expectation.size.map { String($0) } ?? ""
            let parts = [written, entry.resourceKey, expectation.digest?.hex ?? "", size]
            return Digest(of: Array(parts.joined(separator: "\0").utf8))
        }
    }

    private struct Outcome {
        let number: Int64
        let code: ExportCode?
    }

    /// - Parameter isCancelled: Polled regularly. After a cancellation, the output is incomplete.
    package init(
        _ cache: Cache, _ configuration: LocalizeConfiguration,
        isCancelled: @escaping () -> Bool = { false },
        onProgress: @escaping (ObjectProgress) -> Void = { _ in }
    ) throws {
        self.cache = cache
        self.configuration = configuration
        self.isCancelled = isCancelled
        self.onProgress = onProgress
        edits = try Self.naming { try CatalogueEdits() }
    }

    /// Stores the icons durably, and then writes the manifest to `sink`. Throws ``CacheError``,
    /// `ManifestError` and the errors of `sink`.
    package func localize(
        _ catalogue: Catalogue, to sink: (UnsafeRawBufferPointer) throws -> Void
    ) throws -> LocalizeReport {
        do {
            try Self.naming {
                try read(catalogue)
                try writer?.flush()
                let left = try withoutActuallyEscaping(sink) { sink in
                    try catalogue.copy(as: report.format, replacing: nextEdit, to: sink)
                }
                report.remaining += left
            }
        } catch is CancellationError {
            report.isInterrupted = true
        }
        report.seconds = (ContinuousClock.now - start) / .seconds(1)
        return report
    }

    private static func naming<Value>(_ body: () throws -> Value) throws -> Value {
        do { return try body() } catch let error as DatabaseError {
            throw CacheError(index: "the list of icon values", error)
        }
    }

    private func nextEdit() throws -> CatalogueEdit? {
        if isCancelled() { throw CancellationError() }
        return try edits.next()
    }

    private func read(_ catalogue: Catalogue) throws {
        var page: [Place] = []
        let source = catalogue.source
        let reader = ManifestReader(source: source, rules: configuration.manifestRules)
        let summary = try reader.read(unless: isCancelled) { item in
            try note(item) { page.append($0) }
            guard page.count + kept.count >= DatabaseQueue.pageLimit else { return }
            try add(page)
            page.removeAll(keepingCapacity: true)
        }
        if let refusal = summary.refusal(of: source) { throw refusal }
        report.format = summary.format
        try add(page)
    }

    private func note(_ item: ManifestItem, _ add: (Place) -> Void) throws {
        if case .unfetched(.empty) = item.result {
            report.kinds[.empty, default: 0] += 1
            return
        }
        if case .skipped(let reason) = item.result {
            return report.problems.noteSkipped(item, reason)
        }
        report.icons += 1
        if let value = item.value, configuration.target.isOwn(value.text) {
            report.unchanged += 1
            return
        }
        switch item.result {
        case .entry(let entry):
            guard let value = item.value, !value.span.isEmpty else {
                report.problems.note(
                    ExportFailure(
                        .badEntry, name: entry.name, url: entry.writtenURL,
                        "the value's place in the file is unknown"))
                return keep(item.value?.text)
            }
            add(
                Place(
                    span: value.span, written: value.text, entry: entry,
                    expectation: item.result.expectation))
        case .inline: report.kinds[.data, default: 0] += 1
        case .unfetched(let kind):
            report.kinds[kind, default: 0] += 1
            keep(item.value?.text)
        case .failed(let error):
            report.problems.noteBad(item, error)
            keep(item.value?.text)
        case .skipped: break
        }
    }

    private func add(_ page: [Place]) throws {
        if known.count > Self.knownLimit { known.removeAll(keepingCapacity: true) }
        let identities = page.map(\.identity)
        var unknown: [(identity: Digest, place: Place)] = []
        var seen: Set<Digest> = []
        for (identity, place) in zip(identities, page)
        where known[identity] == nil && seen.insert(identity).inserted {
            unknown.append((identity, place))
        }
        let resources = try cache.resources(unknown.map(\.place.entry.resourceKey))
        var reported: Set<Digest> = []
        let replacements = try zip(unknown, resources).map { unknown, resource in
            try replacement(of: unknown.place, resource?.object)
        }
        let numbers = try edits.add(
            zip(unknown, replacements).map { ($0.place.written, $1.new) })
        for (((identity, _), (_, failure)), (number, isNew)) in zip(
            zip(unknown, replacements), numbers)
        {
            known[identity] = Outcome(number: number, code: failure?.code)
            if let failure, isNew {
                report.problems.note(failure)
                reported.insert(identity)
            }
        }
        var spans: [(span: Range<Int>, number: Int64)] = []
        for (identity, place) in zip(identities, page) {
            guard let outcome = known[identity] else { continue }
            spans.append((place.span, outcome.number))
            guard let code = outcome.code else {
                report.localized += 1
                continue
            }
            if reported.remove(identity) == nil { report.problems.noteAgain(code) }
            if configuration.hasPlaceholders {
                report.placeholders += 1
            } else {
                noteRemaining(place.written)
            }
        }
        try edits.add(spans)
        _ = try edits.add(kept.map { ($0, nil) })
        kept.removeAll(keepingCapacity: true)
        var progress = ObjectProgress()
        progress.objects = report.icons
        progress.bytes = report.bytes
        progress.seconds = (ContinuousClock.now - start) / .seconds(1)
        onProgress(progress)
    }

    /// Records a URL that stays. Counts it unless the search of the output does.
    private func keep(_ value: String?) {
        guard let value, RemoteImages.isURL(value) else { return }
        kept.append(value)
        noteRemaining(value)
    }

    private func noteRemaining(_ value: String) {
        if RemoteImages.isURL(value), !RemoteImages.isFound(in: value) { report.remaining += 1 }
    }

    private func replacement(
        of place: Place, _ object: StoredObject?
    ) throws -> (new: String?, failure: ExportFailure?) {
        if isCancelled() { throw CancellationError() }
        guard let object = object.map(cache.sized) else {
            return try failed(place, .missing, "not in the cache; a prefetch downloads the icon")
        }
        if let mismatch = place.expectation.mismatch(digest: object.digest, size: object.size),
            let code = ExportCode(rawValue: mismatch.code)
        {
            return try failed(place, code, "the cache has different bytes: \(mismatch.message)")
        }
        if case .data(let limit) = configuration.target, object.size > limit {
            return try failed(
                place, .tooLarge,
                "\(object.size) bytes, more than --max-data allows (\(limit) bytes)")
        }
        do {
            return (try value(of: place.entry, object), nil)
        } catch let error as CacheError {
            return try failed(place, try cache.exportCode(of: error, object), error.message)
        }
    }

    private func failed(
        _ place: Place, _ code: ExportCode, _ message: String
    ) throws -> (new: String?, failure: ExportFailure?) {
        let failure = ExportFailure(
            code, name: place.entry.name, url: place.entry.writtenURL, message)
        return (configuration.hasPlaceholders ? try placeholderValue() : nil, failure)
    }

    private func value(of entry: Entry, _ object: StoredObject) throws -> String {
        switch configuration.target {
        case .server(let server):
            guard try cache.isPresent(object.digest, size: object.size) else {
                throw CacheError(
                    .corrupt, subject: "\(object.digest)", message: "the object is damaged")
            }
            return LocalizeTarget.url(of: entry.resourceKey, at: server)
        case .data:
            return LocalizeTarget.dataURL(
                try cache.bytes(of: object), mediaType: object.mediaType)
        case .icons(let directory, let prefix):
            let name = try name(of: entry, object)
            let placement = try writer(in: directory).place(object, as: name)
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

    /// Creates the directory for the first icon.
    private func writer(in directory: String) throws -> ExportWriter {
        if let writer { return writer }
        let made = try ExportWriter(
            try ExportTree(directory, folders: [], outside: cache), cache: cache, mayLink: true,
            mayClone: true, modified: nil, isCancelled: isCancelled)
        writer = made
        return made
    }

    private func placeholderValue() throws -> String {
        if let placeholder { return placeholder }
        let bytes = Array(PlaceholderIcon.svg.utf8)
        let value: String
        if case .icons(let directory, let prefix) = configuration.target {
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
