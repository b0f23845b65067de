import Foundation
import LarderCache
import LarderCore
import LarderExport
import LarderManifest
import NIOCore
import Synchronization

final class ServedManifests: Sendable {
    typealias Manifest = (manifest: ServedManifest, spool: Rebuilt<String?, ManifestSpool>)

    private let manifests: [Manifest]
    private let rules: ManifestRules
    private let cache: LiveCache
    private let log: ServerLog
    /// Whether a thread is reading a manifest. If other threads waited, they would block the pool.
    private let isReading = Atomic<Bool>(false)
    private let catalogues = Mutex<[(key: [UInt8], spool: Rebuilt<String?, CatalogueSpool>)]>([])

    /// The maximum number of catalogues. Clients can request one for any `Host`.
    private static let catalogueLimit = 8

    init(
        _ manifests: [ServedManifest], rules: ManifestRules, _ cache: LiveCache, log: ServerLog
    ) throws {
        self.manifests = manifests.map { manifest in
            let source = manifest.source.cached(cache.manifest)
            let spool = Rebuilt<String?, ManifestSpool>(.init(retriesFailures: false))
            return (ServedManifest(name: manifest.name, source: source), spool)
        }
        (self.rules, self.cache, self.log) = (rules, cache, log)
        for (manifest, spool) in self.manifests {
            let identity = try identity(of: manifest)
            spool.end(try read(manifest), of: identity, since: .now())
        }
    }

    subscript(name: String) -> Manifest? { manifests.first { $0.manifest.name.isSame(as: name) } }

    /// Returns the plain form of a manifest. Reads the manifest again if it has changed. If this
    /// fails or another thread is reading, returns the previous version.
    func spool(of manifest: Manifest) throws -> ManifestSpool? {
        try current(manifest.spool, of: manifest.manifest) { try read(manifest.manifest) }
    }

    /// Like ``spool(of:)``, but returns the manifest's catalogue, or nil if no version was read.
    func catalogue(of manifest: Manifest, base: String) throws -> CatalogueSpool? {
        let manifest = manifest.manifest
        let key = Array("\(manifest.name)\0\(base)".utf8)
        let spool = catalogues.withLock { all in
            if let known = all.first(where: { $0.key == key }) { return known.spool }
            let new = Rebuilt<String?, CatalogueSpool>(.init(retriesFailures: false))
            all = [(key, new)] + all.prefix(Self.catalogueLimit - 1)
            return new
        }
        return try current(spool, of: manifest) {
            try CatalogueSpool(manifest, rules: rules, base: base)
        }
    }

    private func current<Spool>(
        _ spool: Rebuilt<String?, Spool>, of manifest: ServedManifest, _ read: () throws -> Spool
    ) throws -> Spool? {
        let identity = try identity(of: manifest)
        let mayRead = isReading.compareExchange(
            expected: false, desired: true, ordering: .acquiringAndReleasing
        ).exchanged
        guard mayRead else { return spool.last }
        defer { isReading.store(false, ordering: .releasing) }
        guard spool.mustBuild(identity) else { return spool.last }
        let start = NIODeadline.now()
        do {
            spool.end(try read(), of: identity, since: start)
        } catch {
            spool.end(nil, of: identity, since: start)
            log.problem("\(error); the last readable version of the manifest is served")
        }
        return spool.last
    }

    private func read(_ manifest: ServedManifest) throws -> ManifestSpool {
        let spool = try ManifestSpool(manifest.source, rules: rules)
        if spool.unusable > 0 {
            let name = manifest.source.name.sanitizedForTerminal
            let plan = Suggestion.command("plan \(name.shellArgument)")
            log.problem(
                "\(name): \(spool.unusable.of("entry", "entries")) cannot be used and will not be"
                    + " served; for the reasons: \(plan)")
        }
        return spool
    }

    /// Returns a text that changes whenever the manifest does, or nil if the manifest is missing or
    /// never changes.
    private func identity(of manifest: ServedManifest) throws -> String? {
        switch manifest.source {
        case .file(let path): FileIdentity(path: path)?.text
        case .url(let url, _): try cache.resource(url.string)?.object.digest.hex
        case .standardInput, .descriptor, .bytes: nil
        }
    }
}

/// A copy of a manifest in its own format, in a temporary file. Its icon URLs refer to the server.
final class CatalogueSpool: Sendable {
    let file: LentFile
    let mediaType: String
    let entityTag = "\"\(String(UInt64.random(in: .min ... .max), radix: 36))\""

    init(_ manifest: ServedManifest, rules: ManifestRules, base: String) throws {
        let catalogue = try Catalogue(manifest.source, limits: rules.limits)
        let edits = try CatalogueEdits()
        let source = catalogue.source
        let summary = try ManifestReader(source: source, rules: rules).read { item in
            guard case .entry(let entry) = item.result, let value = item.value,
                !value.span.isEmpty, !LocalizeTarget.server(base).isOwn(value.text)
            else { return }
            let url = LocalizeTarget.url(of: entry.resourceKey, at: base)
            let identity = Digest(of: Array(url.utf8))
            try edits.add(value.span, number: edits.add(identity, written: value.text, new: url))
        }
        if let refusal = summary.refusalIfAllWereRead(of: source) { throw refusal }
        let copy = try LarderCache.FileDescriptor.unnamed()
        let output = GeneratedFile(copy)
        _ = try catalogue.copy(as: summary.format, replacing: edits.next) { try output.write($0) }
        file = LentFile(copy, size: try output.finish().count)
        mediaType =
            switch summary.format {
            case _ where catalogue.isPacked: "application/gzip"
            case .json: "application/json"
            case .jsonLines: "application/jsonl"
            case .yaml: "application/yaml"
            case .xml, .xmlPlist: "application/xml"
            case .binaryPlist: "application/octet-stream"
            case .urlList: "text/plain; charset=utf-8"
            }
    }
}

/// A value that is rebuilt when it is too old or its source has changed. While one thread builds
/// the value, other threads use the previous value.
final class Rebuilt<Source: Equatable & Sendable, Value: Sendable>: Sendable {
    struct Pace {
        var least = TimeAmount.zero
        /// The minimum lifetime as a multiple of the build time.
        var factor = 0
        /// The maximum lifetime, which also applies if the source has not changed.
        var most: TimeAmount?
        var retriesFailures = true
    }

    private struct State {
        var value: Value?
        var source: Source?
        var builtAt: NIODeadline?
        var lifetime = TimeAmount.zero
        var isBuilding = false
    }

    private let pace: Pace
    private let state = Mutex(State())

    init(_ pace: Pace) { self.pace = pace }

    var last: Value? { state.withLock { $0.value } }
    var isBuilding: Bool { state.withLock { $0.isBuilding } }

    /// Whether the caller must build the value and call ``end(_:of:since:)``.
    func mustBuild(_ source: Source) -> Bool {
        state.withLock { state in
            if state.isBuilding { return false }
            if let builtAt = state.builtAt {
                let age = NIODeadline.now() - builtAt
                let isOutdated = state.source != source || pace.most.map { age > $0 } == true
                guard age > state.lifetime, isOutdated else { return false }
            }
            state.isBuilding = true
            return true
        }
    }

    /// Ends a build that began with `source`. A failed build (nil) keeps the last value.
    func end(_ value: Value?, of source: Source, since start: NIODeadline) {
        state.withLock { state in
            state.isBuilding = false
            state.builtAt = .now()
            state.lifetime = max(pace.least, (.now() - start) * pace.factor)
            state.source = value == nil && pace.retriesFailures ? nil : source
            state.value = value ?? state.value
        }
    }
}
