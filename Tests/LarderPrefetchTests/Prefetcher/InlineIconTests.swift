import Foundation
import LarderCache
import LarderCore
import LarderManifest
import LarderTestSupport
import Testing

@testable import LarderPrefetch

/// Icons embedded in a manifest as `data:` URLs.
@Suite(.timeLimit(.minutes(30))) struct InlineIconTests {
    private let icons = (1...3).map { IconPainter.png(seed: $0) }

    private func entry(_ icon: [UInt8], key: String? = nil) -> String {
        let url = "data:image/png;base64,\(Data(icon).base64EncodedString())"
        return #"{"icon":"\#(url)"\#(key.map { #","key":"\#($0)""# } ?? "")}"#
    }

    /// The cached icon is fresh, but its bytes differ.
    @Test func anotherInlineIconReplacesTheCachedIconOfItsKey() async throws {
        try await withTemporaryDirectory { directory in
            let path = directory.path("cache")
            for icon in [icons[0], icons[1]] {
                for outcome in [EntryResult.Outcome.fetched, .cached] {
                    let (report, _) = try await prefetch(
                        "[\(entry(icon, key: "logo"))]", into: path)
                    #expect(report.count(outcome) == 1, "\(report)")
                }
                let cache = try Cache.open(at: path)
                let resource = try #require(try cache.resource(ResourceKey.named("logo")))
                #expect(try cache.bytes(of: resource.object) == icon)
            }
        }
    }

    /// A foreign cache may store other bytes under the key of an inline icon.
    @Test func anInlineKeyWithOtherBytesIsIgnored() async throws {
        try await withTemporaryDirectory { directory in
            let path = directory.path("cache")
            let manifest = "[\(entry(icons[0]))]"
            _ = try await prefetch(manifest, into: path)
            let name = ResourceKey.name(
                of: try #require(Digest(bytes: ReferenceSHA256.digest(icons[0]))))
            _ = try await prefetch("[\(entry(icons[1]))]", into: path)
            let other = try #require(Digest(bytes: ReferenceSHA256.digest(icons[1])))
            do {
                let store = try Cache.create(at: path).store()
                store.add(
                    Deposit(
                        key: name, url: name, receivedAt: Date(),
                        content: .staged(
                            try stage(icons[1], in: store))),
                    for: nil
                ) {}
                store.flush()
                store.close()
            }
            let cache = try Cache.open(at: path)
            #expect(try cache.resource(name) == nil)
            var keys: [String] = []
            try cache.forEachResource { keys.append($0.key) }
            #expect(keys == [ResourceKey.name(of: other)])
            let source = ManifestSource.bytes(Array(manifest.utf8), name: "test")
            #expect(try Planner(cache: cache).plan([source]).missing == 1)
            let verification = CacheVerification(PrefetchConfiguration(cache: path))
            let report = try verification.verify(cache, manifests: [source])
            #expect(report.findings.isEmpty && report.entryFindings.count == 1)
            #expect(report.count(.missing) == 1 && !report.isClean && !report.isSound)
            let (again, _) = try await prefetch(manifest, into: path)
            #expect(again.count(.fetched) == 1)
            let replaced = try #require(try Cache.open(at: path).resource(name))
            #expect(try cache.bytes(of: replaced.object) == icons[0])
        }
    }

    private func stage(_ bytes: [UInt8], in store: Store) throws -> StagedObject {
        let body = store.newBody {}
        _ = try bytes.withUnsafeBytes { try body.append($0) }
        return try store.stage(body, digest: try body.finish(), attributes: ObjectAttributes())
    }

    @Test func twoInlineIconsWithOneKeyAreAConflict() async throws {
        try await withTemporaryDirectory { directory in
            let entries = icons.prefix(2).map { entry($0, key: "logo") }.joined(separator: ",")
            let (report, _) = try await prefetch("[\(entries)]", into: directory.path("cache"))
            #expect(report.count(.fetched) == 1 && report.failures == ["key-conflict": 1])
        }
    }

    @Test func anObstructedInlineIconDoesNotStopOtherIcons() async throws {
        let origin = try Origin()
        origin.on("/a", .ok(icons[2]))
        try await withTemporaryDirectory { directory in
            let path = directory.path("cache")
            let objects = path + "/objects/sha256"
            try FileManager.default.createDirectory(
                atPath: objects, withIntermediateDirectories: true)
            let fanOut = ReferenceSHA256.hex(icons[0]).prefix(2)
            try Data([1]).write(to: URL(fileURLWithPath: "\(objects)/\(fanOut)"))
            let entries = icons.prefix(2).map { entry($0) } + [#"{"icon":"\#(origin.url("/a"))"}"#]
            let (report, _) = try await prefetch(
                "[\(entries.joined(separator: ","))]", into: path)
            #expect(report.failure == nil)
            #expect(report.failures == ["obstructed": 1] && report.count(.fetched) == 2)
        }
    }
}
