import LarderCache
import LarderCore
import LarderManifest

/// Goes through the entries of manifests, some at a time: what one page has stored, the next finds
/// in the cache.
struct ImportPages {
    private static let pageLimit = 500

    private let cache: Cache
    private let stage: ImportStage
    private let source: any ImportSource
    private let file: ImportFile
    var report: ImportReport
    private var page: [Entry] = []
    private var spellings: [Spelling] = []
    /// Entries of this page that are present if what was staged before them is, by its number.
    private var followers: [Int: [Entry]] = [:]
    private var staged = 0

    init(
        _ cache: Cache, _ stage: ImportStage, source: any ImportSource,
        file: ImportFile, report: ImportReport
    ) {
        self.cache = cache
        self.stage = stage
        self.source = source
        self.file = file
        self.report = report
    }

    mutating func add(_ item: ManifestItem) throws {
        report.icons += 1
        switch item.result {
        case .entry(let entry):
            page.append(entry)
            if page.count >= Self.pageLimit { try finish() }
        case .inline(let entry):
            report.problems.note(
                ImportProblem(
                    code: .noURL, name: entry.name, url: nil,
                    message: "the manifest has the icon itself"))
        case .skipped(let reason):
            report.problems.note(.without(item, reason))
        case .failed(let error):
            report.problems.note(.bad(item, error))
        }
    }

    /// Imports what was added.
    mutating func finish() throws {
        let entries = page
        page.removeAll(keepingCapacity: true)
        let resources = try cache.resources(entries.map(\.resourceKey))
        let arePresent = try cache.arePresent(
            resources.compactMap { $0.map { ($0.object.digest, $0.object.size) } })
        var isPresent = arePresent.makeIterator()
        // Of this page: what is stored is found only behind it.
        var staged: [[UInt8]: (content: Content, number: Int)] = [:]
        for (entry, resource) in zip(entries, resources) {
            let isWhole = resource != nil && isPresent.next() == true
            let stored = isWhole ? resource.map { Content($0.object.digest, $0.object.size) } : nil
            let key = Array(entry.resourceKey.utf8)
            if stored.map(entry.accepts) == true {
                report.present += 1
                note(entry.spelling, of: entry)
            } else if let (content, number) = staged[key], entry.accepts(content) {
                followers[number, default: []].append(entry)
                note(entry.spelling, of: entry)
            } else {
                staged[key] = try take(entry) ?? staged[key]
            }
        }
        try settle()
    }

    /// Stages the first file of an entry that can be used: under its URL as the manifest spells it,
    /// or else as the cache does.
    private mutating func take(_ entry: Entry) throws -> (Content, Int)? {
        let url = entry.writtenURL
        let canonical = entry.icon.string
        var places = try source.places(of: url)
        if !canonical.isSame(as: url) { places += try source.places(of: canonical) }
        var refusal: ImportFile.Refusal?
        for place in places {
            do {
                guard
                    let object = try file.stage(
                        place, demanded: entry.expectedDigest, size: entry.expectedSize)
                else { continue }
                staged += 1
                stage.add(
                    object, key: entry.resourceKey, url: canonical,
                    ImportStage.Adopted(
                        number: staged, name: entry.name, url: url, size: object.size))
                note(entry.spelling, of: entry)
                return (Content(object.digest, object.size), staged)
            } catch let error as ImportFile.Refusal {
                refusal = refusal ?? error
            }
        }
        if let refusal {
            report.problems.note(
                ImportProblem(
                    code: refusal.code, name: entry.name, url: url, message: refusal.message))
        } else {
            report.missing += 1
        }
        return nil
    }

    private mutating func note(_ spelling: String?, of entry: Entry) {
        if let spelling { spellings.append(Spelling(spelling, of: entry.resourceKey)) }
    }

    /// Counts what is durable of what was handed to the store.
    mutating func settle() throws {
        let (imported, refused) = try stage.flush()
        report.imported += imported.count
        report.bytes += imported.reduce(0) { $0 + $1.size }
        for refused in refused {
            let (adopted, error) = (refused.adopted, refused.error)
            noteUnstored(adopted.name, adopted.url, error)
            for entry in followers.removeValue(forKey: adopted.number) ?? [] {
                noteUnstored(entry.name, entry.writtenURL, error)
            }
        }
        report.present += followers.values.reduce(0) { $0 + $1.count }
        followers.removeAll(keepingCapacity: true)
        // An app looks up its icons by the text that it has.
        if !spellings.isEmpty { try cache.record(spellings) }
        spellings.removeAll(keepingCapacity: true)
    }

    private mutating func noteUnstored(_ name: String, _ url: String, _ error: CacheError) {
        report.problems.note(
            ImportProblem(code: .unstored, name: name, url: url, message: error.description))
    }
}

/// What tells an object's bytes from others.
private struct Content {
    let digest: Digest
    let size: Int64

    init(_ digest: Digest, _ size: Int64) { (self.digest, self.size) = (digest, size) }
}

extension Entry {
    /// Whether it demands no other bytes.
    fileprivate func accepts(_ content: Content) -> Bool {
        (expectedDigest ?? content.digest) == content.digest
            && (expectedSize ?? content.size) == content.size
    }
}
