import Foundation
import GRDB
import LarderCache
import LarderCore
import LarderImages
import LarderManifest
import Synchronization

/// An import of icons from another program's cache. Does not change that cache or follow its links.
package struct Importer {
    private let cache: Cache
    private let configuration: ImportConfiguration
    private let isCancelled: () -> Bool
    private let onProgress: (ObjectProgress) -> Void

    /// - Parameter isCancelled: Polled for each icon. A cancelled import keeps the stored icons.
    package init(
        _ cache: Cache, _ configuration: ImportConfiguration,
        isCancelled: @escaping () -> Bool = { false },
        onProgress: @escaping (ObjectProgress) -> Void = { _ in }
    ) {
        (self.cache, self.configuration) = (cache, configuration)
        (self.isCancelled, self.onProgress) = (isCancelled, onProgress)
    }

    package func run(_ manifests: [ManifestSource]) throws -> ImportReport {
        precondition(configuration.layout.isImportable, "layout cannot be imported")
        let start = ContinuousClock.now
        let root = URL(fileURLWithPath: configuration.directory).standardizedFileURL.path
        let folders = configuration.library?.folders ?? []
        var report = ImportReport(
            layout: configuration.layout, directory: ([root] + folders).joined(separator: "/"))
        do {
            let folder = try configuration.folder(besideCacheAt: cache.path)
            let places: (String) throws -> [ImportPlace]
            if let library = configuration.library {
                places = library.places
            } else {
                places = try ListedFiles(in: folder, unless: isCancelled).places
            }
            let store = try cache.store()
            defer { store.close() }
            var pages = ImportPages(
                cache: cache, store: store, places: places, directory: folder,
                configuration: configuration, readFiles: try ReadFiles(), report: report)
            defer { report = pages.report }
            var progress = ObjectProgress()
            do {
                let rules = configuration.manifestRules
                try cache.forEachItem(of: manifests, rules, unless: isCancelled) { _, item in
                    try pages.add(item)
                    progress.objects += 1
                    progress.bytes = pages.report.bytes
                    progress.seconds = (ContinuousClock.now - start) / .seconds(1)
                    onProgress(progress)
                }
                try pages.finish()
            } catch is CancellationError {
                try pages.settle()
                throw CancellationError()
            }
        } catch is CancellationError {
            report.isInterrupted = true
        } catch let error as DatabaseError {
            throw CacheError(index: "the list of imported files", error)
        }
        report.seconds = (ContinuousClock.now - start) / .seconds(1)
        return report
    }
}

package struct ImportConfiguration: Sendable {
    package var layout: ExportLayout
    package var directory: String
    package var folder: String?
    package var maximumBytes: Int64 = 16 << 20
    package var acceptsAnyContent = false
    package var manifestRules = ManifestRules()

    var library: KeyedLayout? { layout.library(in: folder) }

    package init(layout: ExportLayout, directory: String) {
        (self.layout, self.directory) = (layout, directory)
    }

    /// Checks the directory before a cache is created. Throws `.missing` if the directory or its
    /// `index.json` does not exist, or `.unusable` if the directory is or contains the cache.
    package func check(besideCacheAt path: String) throws(CacheError) {
        let folder = try folder(besideCacheAt: path)
        if library == nil, try folder.status(of: FileIndex.file) == nil {
            throw ListedFiles.missingIndex(in: folder)
        }
    }

    func folder(besideCacheAt path: String) throws(CacheError) -> FileDescriptor {
        let names = library?.folders ?? []
        let root = try Cache.usersDirectory(directory)
        var folder = root
        for name in names {
            do throws(CacheError) {
                folder = try folder.directory(name)
            } catch  where [ENOENT, ENOTDIR, ELOOP].contains(error.errno) {
                throw CacheError(
                    .missing, subject: directory,
                    message: "has no subdirectory \(names.joined(separator: "/"));"
                        + " specify the directory that contains it")
            }
        }
        let place = try Cache.nearestDirectory(to: path)
        let isCache =
            try FileIdentity(path: path)?.isSameFile(as: FileIdentity(root.status())) ?? false
        // The root may contain the cache, which on macOS is next to the caches of libraries.
        guard !isCache, try !place.lies(in: folder) else {
            throw CacheError(.unusable, subject: directory, message: "contains the cache")
        }
        return folder
    }
}

package struct ImportReport: Sendable {
    package var layout: ExportLayout
    package let directory: String
    package internal(set) var icons = 0
    package internal(set) var imported = 0
    package internal(set) var present = 0
    package internal(set) var missing = 0
    package internal(set) var bytes: Int64 = 0
    package internal(set) var problems = ItemFailures<ImportCode>()
    package internal(set) var isInterrupted = false
    package internal(set) var seconds: Double = 0

    package var skipped: Int { problems.skipped }
    package var failed: Int { problems.failed }
}

/// The import of entries in pages. Each page is committed before the next page is looked up.
struct ImportPages {
    let cache: Cache
    let store: Store
    let places: (String) throws -> [ImportPlace]
    let directory: FileDescriptor
    let configuration: ImportConfiguration
    let readFiles: ReadFiles
    /// The limit for all sparse files together, because the cache stores their holes as bytes.
    private let sparse = SparseBudget()
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
                if let object, entry.expectation.failure(of: object) == nil {
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
                guard let object = try stage(place, entry.expectation) else { continue }
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
            } catch let error as ImportFailure { failure = failure ?? error }
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

struct ImportPlace {
    let name: String
    /// The digest that `index.json` lists for the file, or nil without a list.
    var digest: Digest?
    /// The file with response metadata, or nil if the library needs none.
    var metadata: String?
    /// Whether the metadata begins with a response status, possibly an error status.
    var hasStatus = false
}

extension KeyedLayout {
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
        try database.read { db in
            try db.prepared("SELECT file, digest FROM files WHERE url = ? ORDER BY file LIMIT 100")
                .rows(url) {
                    ImportPlace(name: try $0.requireText(), digest: try $0.requireDigest())
                }
        }
    }
}

extension ImportPages {
    private func stage(_ place: ImportPlace, _ expectation: Expectation) throws -> StagedObject? {
        guard let file = try open(place.name) else { return nil }
        if let metadata = place.metadata, try !hasMetadata(metadata, hasStatus: place.hasStatus) {
            return nil
        }
        let identity = FileIdentity(try file.status())
        let known = try readFiles.content(of: identity)
        var read = known == nil ? try self.read(file) : nil
        guard let content = known ?? read?.content else { return nil }
        if known == nil { try readFiles.add(identity, content) }
        if let digest = place.digest, digest != content.digest {
            throw ImportFailure(
                .integrityMismatch, "\(place.name) does not match its digest in index.json")
        }
        if let mismatch = expectation.mismatch(digest: content.digest, size: content.size),
            let code = ImportCode(rawValue: mismatch.code)
        {
            throw ImportFailure(code, "the file has different bytes: \(mismatch.message)")
        }
        if let fault = content.imageFault { throw ImportFailure(.notAnImage, fault) }
        if read == nil {
            let stored = try store.stored(
                content.digest, size: content.size, attributes: content.attributes)
            if let stored { return stored }
            read = try self.read(file)
            guard read?.content.digest == content.digest else {
                throw ImportFailure(.unreadable, "\(place.name) changed during the import")
            }
        }
        return try read.map {
            try store.stage($0.body, digest: content.digest, attributes: content.attributes)
        }
    }

    private func read(
        _ file: FileDescriptor
    ) throws -> (body: StagedBody, content: ReadFiles.Content) {
        _ = try readable { try sparse.take(file.status(), of: file.subject) }
        let body = try store.newBody { append in
            var left = configuration.maximumBytes
            while true {
                let bytes = try readable { try file.read(atMost: 64 << 10) }
                if bytes.isEmpty { return }
                left -= Int64(bytes.count)
                guard left >= 0 else { throw tooLarge }
                try bytes.withUnsafeBytes(append)
            }
        }
        var content = ReadFiles.Content(digest: try body.finish(), size: body.count)
        if body.count == 0 {
            content.imageFault = "the file is empty"
            return (body, content)
        }
        do {
            let image = try body.withBytes { try ImageInspector.inspect($0) }
            content.attributes = ObjectAttributes(
                mediaType: image.mediaType.rawValue, width: image.width, height: image.height)
        } catch let fault as ImageError {
            if !configuration.acceptsAnyContent { content.imageFault = fault.message }
        }
        return (body, content)
    }

    private func open(_ name: String) throws -> FileDescriptor? {
        let notAFile = ImportFailure(.notAFile, "\(name) is not a regular file")
        do {
            #if os(Linux)
                // O_NOATIME, because libraries evict by access date. Only owners may use it
                // (open(2)). The Glibc module lacks the constant.
                let flags = O_RDONLY | O_NONBLOCK | 0o1000000
                let file = try (try? directory.open(name, flags: flags)) ?? directory.file(name)
            #else
                let file = try directory.file(name)
            #endif
            let status = try file.status()
            guard status.isRegularFile else { throw notAFile }
            guard status.st_size <= configuration.maximumBytes else { throw tooLarge }
            return file
        } catch let error as CacheError {
            switch error.errno {
            case ENOENT, ENAMETOOLONG: return nil
            case ELOOP: throw ImportFailure(.notAFile, "\(name) is a link")
            case nil, ENXIO: throw notAFile
            default: throw ImportFailure(.unreadable, error.description)
            }
        }
    }

    /// Whether the metadata file exists. Throws if it contains an error status. The file is empty,
    /// or its first line is the status (Coil 3.5.0, CacheNetworkResponse.kt). A status of 304 is
    /// stored with the body that it confirms (DefaultCacheStrategy.kt).
    private func hasMetadata(_ name: String, hasStatus: Bool) throws -> Bool {
        guard let file = try open(name) else { return false }
        guard hasStatus else { return true }
        let head = try readable { try file.read(atMost: 32) }
        let status = Int(String(decoding: head.prefix { $0 != UInt8(ascii: "\n") }, as: UTF8.self))
        guard head.isEmpty || status.map({ 200..<300 ~= $0 || $0 == 304 }) == true else {
            let words = status.map { "status \($0)" } ?? "an unknown status"
            throw ImportFailure(.errorResponse, "the file is the body of a response with \(words)")
        }
        return true
    }

    private func readable<Value>(_ read: () throws -> Value) throws -> Value {
        do { return try read() } catch { throw ImportFailure(.unreadable, "\(error)") }
    }

    private var tooLarge: ImportFailure {
        ImportFailure(.tooLarge, "the file has more than \(configuration.maximumBytes) bytes")
    }
}
