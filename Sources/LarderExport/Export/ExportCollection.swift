import LarderCache
import LarderCore
import LarderManifest

/// Looks up what is to be exported: what manifests name, or all that the cache has.
struct ExportCollection {
    private static let pageLimit = 500

    private let cache: Cache
    private let layout: ExportLayout
    private let keyed: (any KeyedLayout)?
    private let list: ExportList
    private let isCancelled: () -> Bool
    private(set) var report: ExportReport
    private var rows: [ExportList.Row] = []

    /// - Parameter keyed: the rules by which files are named; nil: for people.
    init(
        from cache: Cache, for layout: ExportLayout, keyed: (any KeyedLayout)?,
        into list: ExportList, report: ExportReport, isCancelled: @escaping () -> Bool
    ) {
        self.cache = cache
        self.layout = layout
        self.keyed = keyed
        self.list = list
        self.report = report
        self.isCancelled = isCancelled
    }

    // MARK: - Manifests

    /// Adds the icons of manifests, under their URLs exactly as those spell them.
    ///
    /// - Throws: `ManifestError`, ``CacheError``, `CancellationError`.
    mutating func add(_ manifests: [ManifestSource], rules: ManifestRules) throws {
        var page: [Wanted] = []
        for source in manifests {
            let reader = ManifestReader(source: source, rules: rules)
            let summary = try reader.read(unless: isCancelled) { item in
                report.icons += 1
                guard let wanted = wanted(item) else { return }
                page.append(wanted)
                if page.count >= Self.pageLimit {
                    try add(page)
                    page.removeAll(keepingCapacity: true)
                }
            }
            if let refusal = summary.refusal(of: source) { throw refusal }
        }
        try add(page)
        try finish()
    }

    /// What an entry of a manifest asks for.
    private struct Wanted {
        let name: String
        let url: String?
        let key: String
        let digest: Digest?
        let size: Int64?
    }

    private mutating func wanted(_ item: ManifestItem) -> Wanted? {
        switch item.result {
        case .entry(let entry):
            return Wanted(
                name: entry.name, url: entry.writtenURL, key: entry.resourceKey,
                digest: entry.expectedDigest, size: entry.expectedSize)
        case .inline(let entry):
            return Wanted(
                name: entry.name, url: nil, key: entry.resourceKey,
                digest: entry.expectedDigest, size: entry.expectedSize)
        case .skipped(let reason):
            report.problems.note(.without(item, reason))
        case .failed(let error):
            report.problems.note(.bad(item, error))
        }
        return nil
    }

    private mutating func add(_ page: [Wanted]) throws {
        let resources = try cache.resources(page.map(\.key))
        for (wanted, resource) in zip(page, resources) {
            var object = resource?.object
            if wanted.size != nil { object = object.map(cache.sized) }
            let problem = problem(of: object, for: wanted)
            if let (code, message) = problem {
                report.problems.note(
                    ExportProblem(
                        code: code, name: wanted.name, url: wanted.url ?? wanted.key,
                        message: message))
                if code.isSkip { continue }
            }
            try add(
                name: wanted.name, url: wanted.url, key: wanted.key,
                object: problem == nil ? resource?.object : nil)
        }
    }

    private func problem(
        of object: StoredObject?, for wanted: Wanted
    ) -> (ExportReason, String)? {
        if keyed != nil, wanted.url == nil {
            return (.noURL, "the manifest has the icon itself: there is no URL to look it up by")
        }
        guard let object else {
            return (.missing, "is not in the cache; larder prefetch fetches it")
        }
        if let digest = wanted.digest, digest != object.digest {
            return (
                .integrityMismatch,
                "the cache has \(object.digest), the manifest demands \(digest)"
            )
        }
        if let size = wanted.size, size != object.size {
            return (
                .sizeMismatch,
                "the cache has \(object.size) bytes, the manifest demands \(size)"
            )
        }
        return unsupported(object)
    }

    private func unsupported(_ object: StoredObject) -> (ExportReason, String)? {
        guard layout == .assetCatalog, !ImageFile.isForAssetCatalog(object.mediaType) else {
            return nil
        }
        return (.unsupportedType, "Xcode takes no \(object.mediaType ?? "unknown type")")
    }

    // MARK: - The whole cache

    /// Adds all images of the cache, under their URLs and, for a library, under each spelling that
    /// a manifest had.
    mutating func addAll() throws {
        try cache.forEachResource { resource in
            if isCancelled() { throw CancellationError() }
            report.icons += 1
            let url = resource.url
            try add(resource, url: ResourceKey.isSpelledOut(url) ? nil : url)
        }
        guard keyed != nil else { return try finish() }
        var page: [Spelling] = []
        try cache.forEachSpelling { spelling in
            if isCancelled() { throw CancellationError() }
            page.append(spelling)
            guard page.count >= Self.pageLimit else { return }
            try add(page)
            page.removeAll(keepingCapacity: true)
        }
        try add(page)
        try finish()
    }

    private mutating func add(_ spellings: [Spelling]) throws {
        let resources = try cache.resources(spellings.map(\.key))
        for (spelling, resource) in zip(spellings, resources) {
            // What was evicted meanwhile is not wanted any more.
            guard let resource else { continue }
            report.icons += 1
            try add(resource, url: spelling.text)
        }
    }

    private mutating func add(_ resource: Resource, url: String?) throws {
        let problem: (ExportReason, String)? =
            if resource.object.mediaType == nil {
                // Manifests are there, too.
                (.notAnImage, "is not an image")
            } else if keyed != nil, url == nil {
                (.noURL, "a manifest has the icon itself: there is no URL to look it up by")
            } else {
                unsupported(resource.object)
            }
        if let (code, message) = problem {
            report.problems.note(
                ExportProblem(code: code, name: "", url: url ?? resource.key, message: message))
            return
        }
        try add(name: "", url: url, key: resource.key, object: resource.object)
    }

    // MARK: - Rows

    private mutating func add(
        name: String, url: String?, key: String, object: StoredObject?
    ) throws {
        let stem = url.flatMap { url in keyed?.stem(of: url) }
        let base = keyed == nil ? SafeName.of(name, url: url) : nil
        rows.append(
            ExportList.Row(
                name: name, url: url, key: key, stem: stem, base: base, object: object))
        if rows.count >= Self.pageLimit { try finish() }
    }

    private mutating func finish() throws {
        try list.add(rows)
        rows.removeAll(keepingCapacity: true)
    }
}
