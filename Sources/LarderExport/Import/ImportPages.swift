import Foundation
import GRDB
import LarderCache
import LarderCore
import LarderManifest
import Synchronization

/// The import of entries in pages. Each page is committed before the next page is looked up.
struct ImportPages {
    let cache: Cache
    let store: Store
    let places: (String) throws -> [ImportPlace]
    let file: ImportFile
    private let outcomes = StoreOutcomes()
    var report: ImportReport
    var page: [Entry] = []
    var spellings: [Spelling] = []
    /// Uncommitted objects and the entries that use them, keyed by object number. An object's
    /// first entry staged it.
    var staged: [Int: (size: Int64, entries: [Entry])] = [:]
    var lastNumber = 0

    mutating func add(_ item: ManifestItem) throws {
        report.icons += 1
        switch item.result {
        case .entry(let entry):
            page.append(entry)
            if page.count >= DatabaseQueue.pageLimit { try finish() }
        case .inline, .unfetched: report.problems.noteSkipped(.noURL)
        case .skipped: report.problems.noteSkipped(.noIcon)
        case .failed(let error): report.problems.noteBad(item, error)
        }
    }

    mutating func finish() throws {
        let entries = page
        page.removeAll(keepingCapacity: true)
        let resources = try cache.resources(entries.map(\.resourceKey))
        let arePresent = try cache.presence.arePresent(
            resources.compactMap { $0.map { ($0.object.digest, $0.object.size) } })
        var isPresent = arePresent.makeIterator()
        // The staged objects of this page. The cache does not find them until they are committed.
        var known: [[UInt8]: (digest: Digest, size: Int64, number: Int)] = [:]
        for (entry, resource) in zip(entries, resources) {
            let object = resource != nil && isPresent.next() == true ? resource?.object : nil
            let key = Array(entry.resourceKey.utf8)
            if let object, entry.accepts(object.digest, object.size) {
                report.present += 1
                note(entry)
            } else if let known = known[key], entry.accepts(known.digest, known.size) {
                staged[known.number]?.entries.append(entry)
                note(entry)
            } else if let object = try stage(entry) {
                known[key] = (object.digest, object.size, lastNumber)
            }
        }
        try settle()
    }

    /// Stages the first usable file. The manifest's URL is tried before the canonical one.
    private mutating func stage(_ entry: Entry) throws -> StagedObject? {
        let url = entry.writtenURL
        let canonical = entry.icon.string
        var failure: ImportFailure?
        let urls = canonical.isSame(as: url) ? [url] : [url, canonical]
        for place in try urls.flatMap(places) {
            do {
                guard let object = try file.stage(place, entry.expectation) else { continue }
                lastNumber += 1
                staged[lastNumber] = (object.size, [entry])
                // The next prefetch requests the icon again, because its validators are unknown.
                let now = Date()
                let accepted = DispatchSemaphore(value: 0)
                store.add(
                    Deposit(
                        context: lastNumber, key: entry.resourceKey, url: canonical,
                        redirectsFreshUntil: now, receivedAt: now, content: .staged(object)),
                    for: outcomes
                ) { accepted.signal() }
                accepted.wait()
                note(entry)
                return object
            } catch let error as ImportFailure {
                failure = failure ?? error
            }
        }
        if let failure {
            report.problems.note(
                ImportFailure(failure.code, name: entry.name, url: url, failure.message))
        } else {
            report.missing += 1
        }
        return nil
    }

    private mutating func note(_ entry: Entry) {
        if let spelling = entry.spelling { spellings.append((spelling, entry.resourceKey)) }
    }

    mutating func settle() throws {
        store.flush()
        for outcome in outcomes.take() {
            guard let number = outcome.context as? Int,
                let (size, entries) = staged.removeValue(forKey: number)
            else { continue }
            switch outcome.result {
            case .success:
                report.imported += 1
                report.bytes += size
                report.present += entries.count - 1
            case .failure(let error) where [.missing, .obstructed].contains(error.code):
                for entry in entries {
                    report.problems.note(
                        ImportFailure(
                            .unstored, name: entry.name, url: entry.writtenURL, error.description))
                }
            case .failure(let error): throw error
            }
        }
        // Apps look up icons by their own spelling of the URL.
        if !spellings.isEmpty { try cache.record(spellings) }
        spellings.removeAll(keepingCapacity: true)
    }
}

private final class StoreOutcomes: Depositor, Sendable {
    private let outcomes = Mutex<[Store.Outcome]>([])

    func committed(_ outcomes: [Store.Outcome]) { self.outcomes.withLock { $0 += outcomes } }

    func take() -> [Store.Outcome] {
        outcomes.withLock { outcomes in
            defer { outcomes = [] }
            return outcomes
        }
    }
}

extension Entry {
    fileprivate func accepts(_ digest: Digest, _ size: Int64) -> Bool {
        expectation.mismatch(digest: digest, size: size) == nil
    }
}

struct ImportPlace {
    let name: String
    /// The digests that `index.json` lists for the file; empty without a list.
    var digests: [Digest] = []
    /// The file with response metadata; nil if the library needs none.
    var metadata: String?
    /// Whether the metadata begins with a response status, possibly an error status.
    var hasStatus = false
}

extension KeyedLayout {
    /// Returns the files that may contain a URL's bytes, the most likely first.
    func places(of url: String) -> [ImportPlace] {
        let metadata = journal?.emptyFiles(stem(of: url)).first
        return names(of: url).map {
            ImportPlace(name: $0, metadata: metadata, hasStatus: storesErrors)
        }
    }
}

struct ListedFiles {
    private let database: DatabaseQueue

    init(in directory: FileDescriptor, unless isCancelled: () -> Bool) throws {
        database = try .scratch(
            """
            CREATE TABLE main.files (
                url TEXT, file TEXT, digest BLOB, PRIMARY KEY (url, file, digest)
            ) WITHOUT ROWID;
            """)
        // If an export was killed, some files are only in the pending list.
        for (name, isRequired) in [(FileIndex.file, true), (FileIndex.pendingFile, false)] {
            let isFound = try FileIndex.forEachPage(of: name, in: directory) {
                if isCancelled() { throw CancellationError() }
            } _: { lines in
                try database.run(
                    "INSERT OR IGNORE INTO files VALUES (?, ?, ?)",
                    for: lines.map(\.line).filter { $0.url != nil }
                ) { [$0.url, $0.file, $0.digest] }
            }
            if isRequired, !isFound { throw Self.missingIndex(in: directory) }
        }
    }

    static func missingIndex(in directory: FileDescriptor) -> CacheError {
        CacheError(
            .missing, subject: directory.subject,
            message: "has no \(FileIndex.file) that lists the URLs of its files")
    }

    func places(of url: String) throws -> [ImportPlace] {
        let rows = try database.read { db in
            try db.prepared(
                "SELECT file, digest FROM files WHERE url = ? ORDER BY file LIMIT 100"
            ).rows(url) { (file: try $0.requireText(), digest: try $0.requireDigest()) }
        }
        var places: [ImportPlace] = []
        for (file, digest) in rows {
            if places.last?.name.isSame(as: file) != true { places.append(ImportPlace(name: file)) }
            places[places.count - 1].digests.append(digest)
        }
        return places
    }
}
