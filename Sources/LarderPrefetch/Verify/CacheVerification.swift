import LarderCache
import LarderCore
import LarderManifest

/// A verification of a cache or of manifests' resources, and the repair of the cache from origins.
///
///     let verification = CacheVerification(PrefetchConfiguration(cache: "cache"))
///     var report = try verification.verify(cache)
///     if !report.isClean { try await verification.repair(&report, of: cache) }
public struct CacheVerification: Sendable {
    private let configuration: PrefetchConfiguration

    /// Creates a verification with the options for downloads.
    public init(_ configuration: PrefetchConfiguration) { self.configuration = configuration }

    /// Verifies a cache without changing it. With manifests, verifies only their resources, and
    /// reports uncached entries as missing. Can be cancelled after the manifests are read. Calls
    /// `onProgress` a few times a second on any thread. Throws `ManifestError` or `CacheError`.
    public func verify(
        _ cache: Cache, manifests: [ManifestSource] = [], options: VerifyOptions = VerifyOptions(),
        onProgress: @escaping @Sendable (ObjectProgress) -> Void = { _ in }
    ) throws -> VerifyReport {
        guard !manifests.isEmpty else { return try cache.verify(options, onProgress: onProgress) }
        return try CacheError.naming("the plan") {
            let start = ContinuousClock.now
            let plan = try Plan.covering(manifests, in: cache, configuration)
            defer { try? plan.releaseIndex() }
            let entryFindings = try plan.entryFindings()
            let end = ContinuousClock.now
            var options = options
            options.selection = .named { (byte) throws(CacheError) in try plan.namedObjects(byte) }
            var report = try cache.verify(options, onProgress: onProgress)
            report.note(.manifests, since: start, until: end)
            report.entries = plan.summary.entries
            report.unfetched = plan.summary.unfetched
            report.manifests = manifests.map(\.name)
            report.findings += try plan.damagedFindings()
            report.demands = try plan.demands(on: report.findings.compactMap(\.digest))
            report.entryFindings = entryFindings
            return report
        }
    }

    /// Repairs the findings of a verification, and records the results in `report`. Moves damaged
    /// objects to `quarantine/` and downloads them again.
    ///
    /// If the download fails or does not match the manifests, the cache stops serving the object
    /// and marks its URL as damaged. The failure is not recorded, so that the next repair or
    /// prefetch tries again. Entries that were never cached are not downloaded.
    /// If `isCancelled` returns true, the repair ends as a run does after ``Prefetcher/cancel()``.
    /// After a `CacheError`, `report` contains the results so far.
    public func repair(
        _ report: inout VerifyReport, of cache: Cache, isCancelled: () -> Bool = { false },
        onProgress: (Progress) -> Void = { _ in }
    ) async throws {
        var start = ContinuousClock.now
        let repair = Result { try cache.repair(&report, isCancelled: isCancelled) }
        report.note(.repair, since: start)
        let dropped = try repair.get()
        defer { if isCancelled() { report.isInterrupted = true } }
        start = .now
        defer { report.note(.fetch, since: start) }
        var refetches: [Int: [VerifyReport.Refetch]] = [:]
        defer {
            for (finding, refetches) in refetches {
                let outcomes = refetches.map(\.outcome)
                report.findings[finding].repair =
                    outcomes.contains(.failed)
                    ? .lost : outcomes.contains(.changed) ? .changed : .restored
            }
            report.refetches = refetches.sorted { $0.key < $1.key }.flatMap(\.value)
        }
        let groups = Dictionary(grouping: dropped) { [$0.isAnyContent, $0.isUnstorable] }
        for group in groups.values {
            try await fetch(group, report.demands, isCancelled, onProgress) { resource, refetch in
                refetches[resource.finding, default: []].append(refetch)
            }
        }
    }

    private func fetch(
        _ resources: [DroppedResource], _ demands: [String: Set<Expectation>],
        _ isCancelled: () -> Bool, _ onProgress: (Progress) -> Void,
        _ done: (DroppedResource, VerifyReport.Refetch) -> Void
    ) async throws {
        var configuration = configuration
        configuration.acceptsAnyContent = resources.contains(where: \.isAnyContent)
        configuration.storesUnstorable = resources.contains(where: \.isUnstorable)
        configuration.policy = PlanPolicy()
        configuration.policy.failureLifetime = .zero
        configuration.remembersFailures = false
        let wanted = resources.flatMap { resource in
            (demands[resource.key] ?? [.init(digest: nil, size: nil)]).map { (resource, $0) }
        }
        func fail(_ resource: DroppedResource, _ problem: (code: String, message: String)) {
            done(resource, .init(key: resource.key, outcome: .failed, problem: problem))
        }
        for resource in resources where demands[resource.key]?.isEmpty == true {
            let code = EntryError.Code.integrityConflict.rawValue
            fail(resource, (code, "the manifests require different bytes for this icon"))
        }
        guard !wanted.isEmpty else { return }
        let entries = wanted.map { resource, demand -> String in
            var entry = JSONObject()
            entry.set("icon", exactly: resource.url)
            if let key = ResourceKey.name(in: resource.key) { entry.set("key", exactly: key) }
            if let digest = demand.digest { entry.set("sha256", digest.hex) }
            if let size = demand.size { entry.set("size", size) }
            return entry.text
        }
        let list = Array("[\(entries.joined(separator: ","))]".utf8)
        var unfinished: [DroppedResource] = []
        let prefetcher = Prefetcher(configuration)
        if isCancelled() { prefetcher.cancel() }
        for try await event in prefetcher.prefetch([.bytes(list, name: "repair")]) {
            if isCancelled() { prefetcher.cancel() }
            switch event {
            case .entry(let result):
                let resource = wanted[result.position - 1].0
                let digest = result.digest
                switch result.outcome {
                case .fetched, .revalidated, .cached, .coalesced, .pulled, .shared:
                    let isSame = resource.digest == nil || digest == resource.digest
                    let outcome: VerifyReport.Refetch.Outcome = isSame ? .fetched : .changed
                    done(resource, .init(key: resource.key, outcome: outcome, digest: digest))
                case .unfinished: unfinished.append(resource)
                case .skipped, .failed, .unstored:
                    let problem = result.failure.map { (code: $0.code, message: $0.message) }
                    fail(resource, problem ?? ("unstored", "the server forbids storing the icon"))
                }
            case .finished(let report):
                let problem = report.failure.map { (code: $0.code.rawValue, message: "\($0)") }
                for resource in unfinished {
                    fail(resource, problem ?? ("cancelled", "the verification was interrupted"))
                }
                if let failure = report.failure { throw failure }
            case .progress(let progress): onProgress(progress)
            case .recovered, .planning, .planned: continue
            }
        }
    }
}
