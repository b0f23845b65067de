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

    private struct Staged: Sendable {
        let entry: Entry
        let size: Int64
    }

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
        while !page.isEmpty {
            let entries = page
            page.removeAll(keepingCapacity: true)
            let resources = try cache.resources(entries.map(\.resourceKey))
            let arePresent = try cache.presence.arePresent(
                resources.compactMap { $0.map { ($0.object.digest, $0.object.size) } })
            var isPresent = arePresent.makeIterator()
            var staged: Set<[UInt8]> = []
            for (entry, resource) in zip(entries, resources) {
                let object = resource != nil && isPresent.next() == true ? resource?.object : nil
                let key = Array(entry.resourceKey.utf8)
                if let object, entry.accepts(object.digest, object.size) {
                    report.present += 1
                    note(entry)
                } else if staged.contains(key) {
                    // The cache does not find the staged object until it is committed.
                    page.append(entry)
                } else if try stage(entry) {
                    staged.insert(key)
                }
            }
            try settle()
        }
    }

    /// Stages the first usable file. The manifest's URL is tried before the canonical one.
    private mutating func stage(_ entry: Entry) throws -> Bool {
        let url = entry.writtenURL
        let canonical = entry.icon.string
        var failure: ImportFailure?
        let urls = canonical.isSame(as: url) ? [url] : [url, canonical]
        for place in try urls.flatMap(places) {
            do {
                guard let object = try file.stage(place, entry.expectation) else { continue }
                // The next prefetch requests the icon again, because its validators are unknown.
                let now = Date()
                store.add(
                    Deposit(
                        context: Staged(entry: entry, size: object.size), key: entry.resourceKey,
                        url: canonical, redirectsFreshUntil: now, receivedAt: now,
                        content: .staged(object)),
                    for: outcomes)
                note(entry)
                return true
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
        return false
    }

    private mutating func note(_ entry: Entry) {
        if let spelling = entry.spelling { spellings.append((spelling, entry.resourceKey)) }
    }

    mutating func settle() throws {
        store.flush()
        for outcome in outcomes.take() {
            guard let staged = outcome.context as? Staged else { continue }
            switch outcome.result {
            case .success:
                report.imported += 1
                report.bytes += staged.size
            case .failure(let error) where [.missing, .obstructed].contains(error.code):
                report.problems.note(
                    ImportFailure(
                        .unstored, name: staged.entry.name, url: staged.entry.writtenURL,
                        error.description))
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
