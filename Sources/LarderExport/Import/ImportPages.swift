import LarderCache
import LarderKit

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
            report.problems.note(
                ImportProblem(code: .noIcon, name: item.name ?? "", url: nil, message: reason))
        case .failed(let error):
            let place = item.line.map { "line \($0)" } ?? "entry \(item.position)"
            report.problems.note(
                ImportProblem(
                    code: .badEntry, name: item.name ?? "", url: nil,
                    message: "\(place): \(error.message)"))
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
        var begun: Set<[UInt8]> = []
        for (entry, resource) in zip(entries, resources) {
            let isWhole = resource != nil && isPresent.next() == true
            if isWhole, let object = resource?.object, entry.accepts(object) {
                report.present += 1
                note(entry.spelling, of: entry)
                continue
            }
            guard begun.insert(Array(entry.resourceKey.utf8)).inserted else {
                report.present += 1
                continue
            }
            try take(entry)
        }
        try settle()
    }

    private mutating func take(_ entry: Entry) throws {
        let url = entry.writtenURL
        do {
            for (name, listed) in try source.files(of: url) {
                guard
                    let staged = try file.stage(
                        name, listed: listed, demanded: entry.expectedDigest,
                        size: entry.expectedSize)
                else { continue }
                stage.add(
                    staged, key: entry.resourceKey, url: entry.icon.string,
                    ImportStage.Adopted(name: entry.name, url: url, size: staged.size))
                note(entry.spelling, of: entry)
                return
            }
            report.missing += 1
        } catch let refusal as ImportFile.Refusal {
            report.problems.note(
                ImportProblem(
                    code: refusal.code, name: entry.name, url: url, message: refusal.message))
        }
    }

    private mutating func note(_ spelling: String?, of entry: Entry) {
        if let spelling { spellings.append(Spelling(spelling, of: entry.resourceKey)) }
    }

    /// Counts what is durable of what was handed to the store.
    mutating func settle() throws {
        let (imported, refused) = try stage.flush()
        report.imported += imported.count
        report.bytes += imported.reduce(0) { $0 + $1.size }
        for (adopted, error) in refused {
            report.problems.note(
                ImportProblem(
                    code: .unstored, name: adopted.name, url: adopted.url,
                    message: error.description))
        }
        // An app looks up its icons by the text that it has.
        if !spellings.isEmpty { try cache.record(spellings) }
        spellings.removeAll(keepingCapacity: true)
    }
}

extension Entry {
    /// Whether it demands no other bytes than those of an object.
    fileprivate func accepts(_ object: StoredObject) -> Bool {
        (expectedDigest ?? object.digest) == object.digest
            && (expectedSize ?? object.size) == object.size
    }
}
