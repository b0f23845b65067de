import GRDB
import LarderCache
import LarderCore
import LarderImages
import LarderManifest

struct ExportCollection {
    let cache: Cache
    let layout: ExportLayout
    let library: (any KeyedLayout)?
    let list: ExportList
    let isCancelled: () -> Bool
    var report: ExportReport
    var icons: [ExportedIcon] = []

    private typealias Wanted = (name: String, url: String?, key: String, expectation: Expectation)

    /// Adds the icons of manifests. Their URLs keep their spelling.
    mutating func add(_ manifests: [ManifestSource], rules: ManifestRules) throws {
        var page: [Wanted] = []
        for source in manifests {
            let reader = ManifestReader(source: source, rules: rules)
            let summary = try reader.read(unless: isCancelled) { item in
                report.icons += 1
                let (name, expectation) = (item.name ?? "", item.result.expectation)
                switch item.result {
                case .entry(let entry):
                    page.append((name, entry.writtenURL, entry.resourceKey, expectation))
                case .inline(let entry): page.append((name, nil, entry.resourceKey, expectation))
                case .skipped: report.problems.noteSkipped(.noIcon)
                case .unfetched: report.problems.noteSkipped(.noURL)
                case .failed(let error): report.problems.noteBad(item, error)
                }
                guard page.count >= DatabaseQueue.pageLimit else { return }
                try add(page)
                page.removeAll(keepingCapacity: true)
            }
            if let refusal = summary.refusal(of: source) { throw refusal }
        }
        try add(page)
        try finish()
    }

    private mutating func add(_ page: [Wanted]) throws {
        let resources = try cache.resources(page.map(\.key))
        for (wanted, resource) in zip(page, resources) {
            let failure = failure(of: resource?.object, for: wanted)
            if let failure {
                report.problems.note(failure)
                if failure.code.isSkip { continue }
            }
            try add(
                name: wanted.name, url: wanted.url, key: wanted.key,
                object: failure == nil ? resource?.object : nil)
        }
    }

    private func failure(of object: StoredObject?, for wanted: Wanted) -> ExportFailure? {
        func failure(_ code: ExportCode, _ message: String) -> ExportFailure {
            ExportFailure(code, name: wanted.name, url: wanted.url ?? wanted.key, message)
        }
        if library != nil, wanted.url == nil { return failure(.noURL, Self.noURL) }
        guard var object else {
            return failure(.missing, "not in the cache; a prefetch downloads the icon")
        }
        let expectation = wanted.expectation
        if expectation.size != nil { object = cache.sized(object) }
        if let mismatch = expectation.mismatch(digest: object.digest, size: object.size),
            let code = ExportCode(rawValue: mismatch.code)
        {
            return failure(code, "the cache has different bytes: \(mismatch.message)")
        }
        return unsupported(object).map { failure(.unsupportedType, $0) }
    }

    private static let noURL =
        "the icon is inline in the manifest, so it has no URL for the library to look up"

    private func unsupported(_ object: StoredObject) -> String? {
        layout == .assetCatalog
            && ImageFormat.of(mediaType: object.mediaType)?.isForAssetCatalogs != true
            ? "Xcode does not accept \(object.mediaType ?? "an unknown media type")" : nil
    }

    /// For a library, adds images under each spelling of their URLs.
    mutating func addAll() throws {
        try cache.forEachResource { resource in
            if isCancelled() { throw CancellationError() }
            let url = resource.url
            try add(resource, url: ResourceKey.isSpelledOut(url) ? nil : url)
        }
        if library != nil {
            var page: [Spelling] = []
            try cache.forEachSpelling { spelling in
                if isCancelled() { throw CancellationError() }
                page.append(spelling)
                guard page.count >= DatabaseQueue.pageLimit else { return }
                try add(page)
                page.removeAll(keepingCapacity: true)
            }
            try add(page)
        }
        try finish()
    }

    private mutating func add(_ spellings: [Spelling]) throws {
        let resources = try cache.resources(spellings.map(\.key))
        for (spelling, resource) in zip(spellings, resources) {
            // The icon may have been evicted in the meantime.
            if let resource { try add(resource, url: spelling.text) }
        }
    }

    private mutating func add(_ resource: Resource, url: String?) throws {
        report.icons += 1
        let problem: (ExportCode, String)? =
            if resource.object.mediaType == nil {
                // The cache also contains manifests, which are not images.
                (.notAnImage, "not an image")
            } else if library != nil, url == nil {
                (.noURL, Self.noURL)
            } else {
                unsupported(resource.object).map { (.unsupportedType, $0) }
            }
        if let (code, message) = problem {
            return report.problems.note(ExportFailure(code, url: url ?? resource.key, message))
        }
        try add(name: "", url: url, key: resource.key, object: resource.object)
    }

    private mutating func add(
        name: String, url: String?, key: String, object: StoredObject?
    ) throws {
        icons.append(
            ExportedIcon(
                name: name, url: url, key: key, stem: url.flatMap { library?.stem(of: $0) },
                base: library == nil ? SafeName.of(name, url: url) : nil, object: object))
        if icons.count >= DatabaseQueue.pageLimit { try finish() }
    }

    private mutating func finish() throws {
        try list.add(icons)
        icons.removeAll(keepingCapacity: true)
    }
}
