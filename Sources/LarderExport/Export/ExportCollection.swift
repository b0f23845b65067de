import GRDB
import LarderCache
import LarderCore
import LarderImages
import LarderManifest

struct ExportCollection {
    let cache: Cache
    let layout: ExportLayout
    let library: KeyedLayout?
    let list: ExportList
    let isCancelled: () -> Bool
    var report: ExportReport
    var icons: [ExportedIcon] = []

    private typealias Wanted = (name: String, url: String?, key: String, expectation: Expectation)

    /// Adds the icons of manifests, under the URLs as the manifests spell them.
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
        for (wanted, resource) in zip(page, resources) { try add(wanted, resource?.object) }
    }

    /// Adds all images in the cache; for a library, also under the other recorded spellings of
    /// their URLs.
    mutating func addAll() throws {
        try cache.forEachResource { resource in
            let url = resource.url
            try add(resource, url: ResourceKey.isSpelledOut(url) ? nil : url)
        }
        if library != nil {
            var page: [Spelling] = []
            try cache.forEachSpelling { spelling in
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
        if isCancelled() { throw CancellationError() }
        report.icons += 1
        // The cache also contains manifests, which are not images.
        if resource.object.mediaType == nil {
            return report.problems.note(
                ExportFailure(.notAnImage, url: url ?? resource.key, "not an image"))
        }
        try add(("", url, resource.key, Expectation(digest: nil, size: nil)), resource.object)
    }

    private mutating func add(_ wanted: Wanted, _ object: StoredObject?) throws {
        var icon = ExportedIcon(
            name: wanted.name, url: wanted.url, key: wanted.key,
            stem: wanted.url.flatMap { library?.stem(of: $0) },
            base: library == nil ? SafeName.of(wanted.name, url: wanted.url) : nil, object: object)
        if let failure = failure(of: icon, wanted.expectation) {
            report.problems.note(failure)
            if failure.code.isSkip { return }
            icon.object = nil
        }
        icons.append(icon)
        if icons.count >= DatabaseQueue.pageLimit { try finish() }
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
        if layout == .assetCatalog,
            ImageFormat.of(mediaType: object.mediaType)?.isForAssetCatalogs != true
        {
            let type = object.mediaType ?? "an unknown media type"
            return icon.failure(.unsupportedType, "Xcode does not accept \(type)")
        }
        return nil
    }

    private mutating func finish() throws {
        try list.add(icons)
        icons.removeAll(keepingCapacity: true)
    }
}
