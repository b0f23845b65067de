import Foundation
import Testing

@testable import LarderManifest

@Suite struct BinaryPlistManifestTests {
    private static let url = "https://a.example/a.png"

    private func manifestError(_ builder: BinaryPlistBuilder) throws -> ManifestError? {
        try LarderManifestTests.manifestError(.bytes(builder.bytes, name: "test"))
    }

    private func words(
        _ builder: BinaryPlistBuilder, limits: ManifestLimits = .init()
    ) throws -> [String] {
        try readManifest(.bytes(builder.bytes, name: "test"), limits: limits).words
    }

    @Test func theEntriesOfABinaryPlistAreRead() throws {
        var builder = BinaryPlistBuilder()
        let entry = builder.add(icon: Self.url)
        let entries = builder.add(array: [entry, entry])
        builder.root = Int(entries)
        #expect(try words(builder) == [Self.url, Self.url])
        let apps = builder.add("apps")
        let other = builder.add("other")
        builder.root = Int(builder.add(dictionary: [(other, entry), (apps, entries)]))
        #expect(try words(builder) == [Self.url, Self.url])
        builder.root = Int(builder.add(array: []))
        #expect(try words(builder) == [])
    }

    @Test func aBinaryPlistWithoutEntriesIsRefused() throws {
        var builder = BinaryPlistBuilder()
        let text = builder.add("apps")
        #expect(
            try manifestError(builder)?.reason
                == "the property list is neither an array nor a dictionary"
        )
        builder.root = Int(builder.add(dictionary: []))
        #expect(
            try manifestError(builder)?.reason.hasPrefix("the shape of the manifest is unknown")
                == true)
        builder.root = Int(builder.add(dictionary: [(text, text)]))
        #expect(
            try manifestError(builder)?.reason.hasPrefix("'apps' is a single value, not") == true)
        #expect(try manifestError(builder)?.code == .notAManifest)
    }

    @Test func cyclesInABinaryPlistAreBounded() throws {
        var builder = BinaryPlistBuilder()
        let entry = builder.add(icon: Self.url)
        let cycle = builder.add(array: [UInt8(builder.objects.count)])
        builder.root = Int(builder.add(array: [entry, cycle, entry]))
        #expect(try words(builder) == [Self.url, "too-deep", Self.url])
        // The root contains itself twice, which doubles the values at each level.
        builder.root = builder.objects.count
        _ = builder.add(array: [UInt8(builder.root), UInt8(builder.root), entry])
        #expect(try words(builder) == ["too-deep", "too-deep", Self.url])
    }

    /// Thirty levels of arrays, each with two references to the next level, expand to 10^9 strings.
    @Test func sharedObjectsAreBounded() throws {
        var builder = BinaryPlistBuilder()
        let entry = builder.add(icon: Self.url)
        var shared = builder.add("laugh")
        for _ in 1...30 { shared = builder.add(array: [shared, shared]) }
        builder.root = Int(builder.add(array: [entry, shared, entry]))
        #expect(try words(builder) == [Self.url, "too-large", Self.url])
    }

    /// Reading 4,000 bytes that expand to millions of empty arrays took a minute.
    @Test func sharedEmptyArraysAreBounded() throws {
        var builder = BinaryPlistBuilder()
        var shared = builder.add(array: [])
        for _ in 1...2 { shared = builder.add(arrayOf: shared, count: 400) }
        builder.root = Int(shared)
        let source = ManifestSource.bytes(builder.bytes, name: "test")
        var rules = ManifestRules()
        rules.entries = ["[*][*][*]"]
        let error = #expect(throws: ManifestError.self) {
            _ = try readManifest(source, rules: rules)
        }
        #expect(error?.code == .tooLarge)
    }

    /// A file of 50 kB with 200 entries that share one array of the maximum size. A limit on the
    /// expanded bytes alone did not help, because small values take as long as long texts.
    @Test func sharedValuesAreBounded() throws {
        var builder = BinaryPlistBuilder()
        let value = builder.add([0x09])
        let shared = builder.add(arrayOf: value, count: 50_000)
        builder.root = Int(builder.add(arrayOf: shared, count: 200))
        let error = try #require(try manifestError(builder))
        #expect(error.code == .tooLarge)
        #expect(error.reason.contains("too many values for a file of this size"))
        // A file may have as many values as fit into its length.
        builder.root = Int(builder.add(arrayOf: value, count: 10_000))
        #expect(try words(builder).count == 10_000)
    }

    @Test func theExpandedSizeOfAllEntriesIsBounded() throws {
        var builder = BinaryPlistBuilder()
        let shared = builder.add(
            [0x5F, 0x12] + BinaryPlistBuilder.bigEndian(1_000_000, 4)
                + [UInt8](repeating: 0, count: 1_000_000))
        builder.root = Int(builder.add(arrayOf: shared, count: 400))
        let error = try #require(try manifestError(builder))
        #expect(error.code == .tooLarge)
        guard case .entry(let position) = error.place else {
            Issue.record("the error names no entry")
            return
        }
        #expect(position > 100 && position < 400)
    }

    @Test func theExpandedSizeOfAllKeysIsBounded() throws {
        var builder = BinaryPlistBuilder()
        let shared = builder.add(
            [0x5F, 0x12] + BinaryPlistBuilder.bigEndian(1_000_000, 4)
                + [UInt8](repeating: 0x61, count: 1_000_000))
        let references = [UInt8](repeating: shared, count: 400)
        builder.root = builder.objects.count
        builder.objects.append(
            [0xDF, 0x11] + BinaryPlistBuilder.bigEndian(400, 2) + references + references)
        #expect(try manifestError(builder)?.code == .tooLarge)
    }

    @Test func depthLimitsAreTheSameAsInOtherFormats() throws {
        var builder = BinaryPlistBuilder()
        var nested = builder.add(array: [])
        for _ in 2...8 { nested = builder.add(array: [nested]) }
        let deeper = builder.add(array: [nested])
        builder.root = Int(builder.add(array: [nested, deeper]))
        let limits = ManifestLimits(maximumDepth: 8)
        #expect(try words(builder, limits: limits) == ["not-a-dictionary", "too-deep"])
    }

    @Test func invalidASCIITextDoesNotAffectOtherEntries() throws {
        var builder = BinaryPlistBuilder()
        let good = builder.add(icon: Self.url)
        let (icon, bad) = (builder.add("icon"), builder.add([0x52, 0x61, 0xE9]))
        let (url, name) = (builder.add(Self.url), builder.add("name"))
        let entries = [
            builder.add(dictionary: [(icon, bad)]),
            builder.add(dictionary: [(icon, url), (name, bad)]),
            builder.add(dictionary: [(bad, bad), (icon, url)]), bad,
        ]
        builder.root = Int(builder.add(array: [good] + entries + [good]))
        #expect(
            try words(builder) == [
                Self.url, "icon-not-a-string", Self.url, Self.url, "not-a-dictionary", Self.url,
            ])
    }

    @Test func skippedValuesDoNotCountTowardsTheLimit() throws {
        var builder = BinaryPlistBuilder()
        let value = builder.add([0x09])
        let values = builder.add(arrayOf: value, count: 50_000)
        let shared = builder.add(arrayOf: values, count: 200)
        let entry = builder.add(icon: Self.url)
        let (apps, other) = (builder.add("apps"), builder.add("other"))
        let list = builder.add(array: [entry])
        builder.root = Int(builder.add(dictionary: [(other, shared), (apps, list)]))
        #expect(try words(builder) == [Self.url])
    }

    @Test func anErrorAboutDamageNamesTheEntry() throws {
        var builder = BinaryPlistBuilder()
        let entry = builder.add(icon: Self.url)
        let bad = builder.add("x")
        builder.falseOffsets[Int(bad)] = 1 << 30
        builder.root = Int(builder.add(array: [entry, bad]))
        #expect(
            try manifestError(builder)?.description
                == "test: entry 2: object \(bad) is outside the file")
    }

    /// The bytes of the offset table could be read as objects.
    @Test func offsetsIntoTheOffsetTableAreDamage() throws {
        var builder = BinaryPlistBuilder()
        let bad = builder.add("x")
        builder.root = Int(builder.add(array: [bad]))
        builder.falseOffsets[Int(bad)] = 8 + builder.objects.map(\.count).reduce(0, +)
        #expect(try manifestError(builder)?.code == .malformed)
    }

    @Test func aBinaryPlistFileIsReadInBlocks() throws {
        let icons = (1...20_000).map {
            "https://a.example/\($0)/\(String(repeating: "x", count: 60))"
        }
        let data = try PropertyListSerialization.data(
            fromPropertyList: icons.map { ["icon": $0, "name": "n"] }, format: .binary, options: 0)
        let path = NSTemporaryDirectory() + "larder-manifest-\(UUID().uuidString).plist"
        defer { unlink(path) }
        try data.write(to: URL(fileURLWithPath: path))
        #expect(try readManifest(.file(path)).words == icons)
    }
}
