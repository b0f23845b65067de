import Foundation
import GRDB
import LarderCache
import LarderCore
import LarderImages
import LarderManifest

struct ExportedIcon {
    var id: Int64 = 0
    let name: String
    /// The URL as an app spells it, or nil for an inline icon.
    let url: String?
    let key: String
    /// The common prefix of the icon's file names, from the library or ``ExportList/nameAll()``.
    let stem: String?
    /// The readable name that the stem is made from, or nil for a library.
    var base: String?
    var object: StoredObject?

    func failure(_ code: ExportCode, _ message: String) -> ExportFailure {
        ExportFailure(code, name: name, url: url ?? key, message)
    }
}

final class ExportList {
    private let cache: Cache
    private let library: KeyedLayout?
    private let isCancelled: () -> Bool
    private let database: DatabaseQueue
    private(set) var report: ExportReport

    init(
        _ cache: Cache, _ library: KeyedLayout?, _ report: ExportReport,
        isCancelled: @escaping () -> Bool
    ) throws {
        (self.cache, self.library) = (cache, library)
        (self.isCancelled, self.report) = (isCancelled, report)
        database = try .scratch(
            """
            CREATE TABLE main.o (
                id INTEGER PRIMARY KEY, name TEXT NOT NULL, url TEXT, key TEXT NOT NULL,
                stem TEXT, base TEXT, folded_base TEXT, folded_stem TEXT,
                digest BLOB, size INTEGER, media_type TEXT, width INTEGER, height INTEGER,
                stored_at REAL, used_at REAL
            );
            """)
    }

    /// Sets the stems. Appends a digest of the URL to a name that another icon already has.
    private func nameAll() throws {
        try database.inTransaction { db in
            try db.execute(sql: "CREATE INDEX main.by_base ON o (folded_base, id)")
            let update = try db.prepared("UPDATE o SET stem = ?, folded_stem = ? WHERE id = ?")
            var first: (folded: String, identity: String, stem: String)?
            try db.prepared(
                "SELECT id, folded_base, base, coalesce(url, key) FROM o ORDER BY folded_base, id"
            ).forEach { row in
                let (id, folded) = (row.integer(), try row.requireText())
                let (base, identity) = (try row.requireText(), try row.requireText())
                var stem = SafeName.disambiguated(base, by: identity)
                if let first, first.folded.isSame(as: folded) {
                    // Several entries can name the same icon.
                    if first.identity.isSame(as: identity) { stem = first.stem }
                } else {
                    if !SafeName.isDisambiguated(base) { stem = base }
                    first = (folded, identity, stem)
                }
                try update.run(stem, SafeName.folded(stem), id)
            }
            return .commit
        }
    }

    func forEachPage(_ body: ([ExportedIcon]) throws -> Void) throws {
        try database.forEachPage(body) { (db: Database, last: ExportedIcon?) in
            try db.prepared(
                """
                SELECT id, name, url, key, stem, \(StoredObject.columns) FROM o
                WHERE (stem, id) > (?, ?) ORDER BY stem, id LIMIT 256
                """
            ).rows(last?.stem ?? "", last?.id ?? 0) { row in
                ExportedIcon(
                    id: row.integer(), name: try row.requireText(), url: row.text(),
                    key: try row.requireText(), stem: row.text(),
                    object: try row.optional { try StoredObject(&$0) })
            }
        }
    }

    func has(_ stem: String) throws -> Bool {
        try database.hasRow("SELECT 1 FROM o WHERE stem = ? LIMIT 1", stem)
    }

    func hasEquivalent(_ stem: String) throws -> Bool {
        try database.hasRow("SELECT 1 FROM o WHERE folded_stem = ? LIMIT 1", SafeName.folded(stem))
    }

    func add(_ manifests: [ManifestSource], rules: ManifestRules) throws {
        try cache.forEachItem(of: manifests, rules, unless: isCancelled) { _, item in
            report.icons += 1
            switch item.result {
            case .entry(let entry): try add(item, url: entry.writtenURL, entry.resourceKey)
            case .inline(let entry): try add(item, url: nil, entry.resourceKey)
            case .skipped: report.problems.noteSkipped(.noIcon)
            case .unfetched: report.problems.noteSkipped(.noURL)
            case .failed(let error): report.problems.noteBad(item, error)
            }
        }
        try finish()
    }

    private func add(_ item: ManifestItem, url: String?, _ key: String) throws {
        try add(
            name: item.name ?? "", url: url, key: key, item.result.expectation,
            cache.resource(key)?.object)
    }

    /// Adds all images. For a library, also adds the other recorded spellings of their URLs.
    func addAll() throws {
        try cache.forEachResource { resource in
            let url = resource.url
            try add(resource, url: ResourceKey.isSpelledOut(url) ? nil : url)
        }
        if library != nil {
            try cache.forEachSpelling { spelling in
                // The icon may have been evicted in the meantime.
                guard let resource = try cache.resource(spelling.key) else { return }
                try add(resource, url: spelling.text)
            }
        }
        try finish()
    }

    private func add(_ resource: Resource, url: String?) throws {
        if isCancelled() { throw CancellationError() }
        report.icons += 1
        // The cache also contains manifests, which are not images.
        if resource.object.mediaType == nil {
            return report.problems.note(
                ExportFailure(.notAnImage, url: url ?? resource.key, "not an image"))
        }
        try add(
            name: "", url: url, key: resource.key, Expectation(digest: nil, size: nil),
            resource.object)
    }

    private func add(
        name: String, url: String?, key: String, _ expectation: Expectation, _ object: StoredObject?
    ) throws {
        var icon = ExportedIcon(
            name: name, url: url, key: key, stem: url.flatMap { library?.stem(of: $0) },
            base: library == nil ? SafeName.of(name, url: url) : nil, object: object)
        if let failure = failure(of: icon, expectation) {
            report.problems.note(failure)
            if failure.code.isSkip { return }
            icon.object = nil
        }
        try database.run(
            "INSERT INTO o VALUES (NULL, ?, ?, ?, ?, ?, ?, NULL, ?, ?, ?, ?, ?, ?, ?)", for: [icon]
        ) {
            [
                $0.name, $0.url, $0.key, $0.stem, $0.base, $0.base.map(SafeName.folded),
                $0.object?.digest, $0.object?.size, $0.object?.mediaType, $0.object?.width,
                $0.object?.height, $0.object?.storedAt.timeIntervalSince1970,
                $0.object?.usedAt.timeIntervalSince1970,
            ]
        }
    }

    private func failure(of icon: ExportedIcon, _ expectation: Expectation) -> ExportFailure? {
        if library != nil, icon.url == nil {
            return icon.failure(
                .noURL,
                "the icon is inline in the manifest, so it has no URL for the library to look up")
        }
        guard var object = icon.object else {
            return icon.failure(.missing, "not in the cache; a prefetch downloads the icon")
        }
        if expectation.size != nil { object = cache.sized(object) }
        if let (code, message) = expectation.failure(of: object) {
            return icon.failure(code, message)
        }
        if report.layout == .assetCatalog,
            ImageFormat.of(mediaType: object.mediaType)?.isForAssetCatalogs != true
        {
            let type = object.mediaType ?? "an unknown media type"
            return icon.failure(.unsupportedType, "Xcode does not accept \(type)")
        }
        return nil
    }

    private func finish() throws {
        if library == nil { try nameAll() }
        try database.execute(
            """
            CREATE INDEX main.by_stem ON o (stem, id);
            CREATE INDEX main.by_folded_stem ON o (folded_stem)
            WHERE folded_stem IS NOT NULL;
            """)
    }
}
