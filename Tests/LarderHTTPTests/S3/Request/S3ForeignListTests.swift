import Foundation
import LarderTestSupport
import Testing

@testable import LarderHTTP

/// 600 bytes on which libxml2 did not finish.
private let nestedParameterEntities: String = {
    let entities = (1...10).map { level in
        let inner = String(repeating: "&#37;p\(level - 1);", count: 4)
        return "<!ENTITY % p\(level) \"\(inner)\">"
    }
    return "<!DOCTYPE a [<!ENTITY % p0 \"<!--x-->\">\(entities.joined())%p10;]>"
}()

/// Listings that a correct server does not send.
@Suite(.timeLimit(.minutes(30))) struct S3ForeignListTests {
    private func list(
        _ reply: Reply, prefix: String = "p", _ part: String = "", after last: String? = nil
    ) async throws -> ListPage {
        let origin = try Origin()
        origin.onAny { _ in reply }
        var page = ListPage(objects: [], next: nil)
        try await Bucket(at: origin).withStorage(prefix: prefix) { storage in
            page = try await storage.list(part, after: last)
        }
        return page
    }

    private func list(
        _ listing: Listing, prefix: String = "p", _ part: String = "", after last: String? = nil
    ) async throws -> ListPage {
        try await list(.ok(listing.xml), prefix: prefix, part, after: last)
    }

    @Test func entitiesAndSectionsInAListingAreDecoded() async throws {
        var listing = Listing(keys: ["p/<![CDATA[<c>]]>", "p/a&amp;b", "p/d&#233;"])
        listing.size = "9223372036854775807"
        let page = try await list(listing)
        #expect(page.objects.map(\.key) == ["<c>", "a&b", "dé"])
        #expect(page.objects.allSatisfy { $0.size == .max })
        #expect(page.next == nil)
    }

    @Test(arguments: [
        ("2026-11-25T02:17:07Z", 1_795_573_027.0), ("2026-11-25T02:17:07.5Z", 1_795_573_027.5),
        ("2026-11-25T02:17:07.708Z", 1_795_573_027.708),
        ("2026-11-25T02:17:07.708123456Z", 1_795_573_027.708123456),
    ])
    func timesInAListingAreParsed(_ text: String, _ time: Double) async throws {
        let page = try await list(Listing(keys: ["p/a"], modified: text))
        let modified = try #require(page.objects.first?.modified.timeIntervalSince1970)
        #expect(abs(modified - time) < 0.001)
    }

    @Test(arguments: [
        // Not sorted.
        ["p/b", "p/a"], ["p/a", "p/c", "p/b"], ["p/a", "p/b", "p/a"],
        // Not below the prefix.
        ["p/a", "q/b"], ["a"], ["p"], [""], ["P/a"],
    ])
    func unsortedOrForeignNamesInAListingAreRefused(_ keys: [String]) async throws {
        let code = try await code { _ = try await list(Listing(keys: keys)) }
        #expect(code == .malformed)
    }

    /// rclone sends such a listing if a name was written and immediately removed.
    @Test func aRepeatedNameInAListingCountsOnce() async throws {
        let page = try await list(Listing(keys: ["p/a", "p/a", "p/b"]))
        #expect(page.objects.map(\.key) == ["a", "b"])
    }

    @Test func namesWithoutTheRequestedPrefixAreRefused() async throws {
        let code = try await code { _ = try await list(Listing(keys: ["p/refs/1"]), "refs/2") }
        #expect(code == .malformed)
    }

    /// A listing always ends, because a page without names after the last one is refused.
    @Test func aPageWithoutFurtherNamesIsRefused() async throws {
        let listing = Listing(keys: ["p/a", "p/b"], isTruncated: true)
        let page = try await list(listing)
        #expect(page.next == "b")
        for last in ["a", "b", "c"] {
            let code = try await code { _ = try await list(listing, after: last) }
            #expect(code == .malformed, "\(last)")
        }
        let code = try await code { _ = try await list(Listing(isTruncated: true)) }
        #expect(code == .malformed)
    }

    /// A name consists of the bytes after the prefix, even if they form a character with it.
    @Test func namesInAListingAreComparedAsBytes() async throws {
        let page = try await list(Listing(keys: ["p/\u{301}x"]))
        #expect(page.objects.first.map { Array($0.key.utf8) } == Array("\u{301}x".utf8))
        // Canonically equivalent, but different bytes.
        let code = try await code {
            _ = try await list(Listing(keys: ["p/e\u{301}"]), "\u{e9}")
        }
        #expect(code == .malformed)
        let marks = String(repeating: "\u{301}", count: 3000)
        let long = try await list(Listing(keys: (1000..<2000).map { "p/\($0)" + marks }))
        #expect(long.objects.count == 1000)
    }

    @Test(arguments: [
        Listing(prologue: "<!DOCTYPE a>"),
        Listing(keys: ["p/&a;"], prologue: "<!DOCTYPE a [<!ENTITY a 'b'>]>"),
        Listing(
            keys: ["p/&a;"], prologue: "<!DOCTYPE a [<!ENTITY a SYSTEM 'file:///etc/passwd'>]>"),
        Listing(keys: ["p/&a;"]),
        Listing(root: "ListAllMyBucketsResult"), Listing(root: "Error"),
        Listing(keys: ["p/a"], size: "-1"), Listing(keys: ["p/a"], size: ""),
        Listing(keys: ["p/a"], size: "9223372036854775808"), Listing(keys: ["p/a"], size: "1e3"),
        Listing(keys: ["p/a"], modified: "yesterday"), Listing(keys: ["p/a"], modified: ""),
        Listing(keys: ["p/" + String(repeating: "a", count: 9000)]),
        Listing(content: "<Contents><Key>p/a</Key><Size>1</Size></Contents>"),
        Listing(content: "<Contents></Contents>"), Listing(content: "<Contents/>"),
        Listing(content: "<Contents>"), Listing(content: "\u{1}"), Listing(content: "&#0;"),
        Listing(
            content: String(repeating: "<a>", count: 17) + String(repeating: "</a>", count: 17)),
        Listing(content: String(repeating: "<a>", count: 1_000_000)),
        // libxml2 did not finish on these, or took gigabytes.
        Listing(prologue: nestedParameterEntities),
        Listing(content: "<a" + (0..<80_000).map { " a\($0)='1'" }.joined() + "/>"),
        Listing(content: (0..<80_000).map { "<a b\($0)='1'/><a\($0)/>" }.joined()),
        Listing(content: String(repeating: "<!---->", count: 1_000_000)),
        Listing(content: String(repeating: "<?p?>", count: 1_000_000)),
        Listing(content: "<!-- \(String(repeating: "x", count: 4 << 20)) -->"),
        Listing(keys: ["p/" + String(repeating: "<![CDATA[a]]>", count: 9000)]),
    ])
    func malformedListingsAreRefused(_ listing: Listing) async throws {
        let code = try await code { _ = try await list(listing) }
        #expect(code == .malformed)
    }

    @Test(arguments: ["", "<", "{}", "<html>", "\u{0}", String(repeating: "x", count: 1 << 20)])
    func otherContentIsNotAListing(_ text: String) async throws {
        let code = try await code { _ = try await list(.ok(text)) }
        #expect(code == .malformed)
    }

    @Test(arguments: [
        Reply.endless(Listing(keys: ["p/a"]).xml.utf8),
        Reply.endless([UInt8](repeating: 32, count: 1 << 16)),
        Reply.ok("").announcing(length: 100 << 20),
    ])
    func tooLongListingsAreRefused(_ reply: Reply) async throws {
        let code = try await code { _ = try await list(reply) }
        #expect(code == .tooLarge)
    }

    /// Element names are compared as bytes. A comparison of characters would sort all marks.
    @Test func elementNamesWithManyCombiningMarksAreIgnored() async throws {
        let names = (0..<1000).map { "<a\(String(repeating: "\u{301}", count: 1900 + $0 % 50))/>" }
        let page = try await list(Listing(content: names.joined()))
        #expect(page.objects.isEmpty)
    }

    /// Any namespace prefix, with comments and CDATA sections in any place.
    @Test func otherWaysToWriteAListingAreAccepted() async throws {
        let content = """
            <!-- a --><s3:Contents><s3:Key>p/<!-- > -->a<![CDATA[&]]>b</s3:Key><s3:Size>1</s3:Size>
            <s3:LastModified x='>'>2026-11-25T02:17:07Z</s3:LastModified></s3:Contents>
            """
        let page = try await list(Listing(content: content))
        #expect(page.objects.map(\.key) == ["a&b"])
    }

    @Test func aListingCanBeEmpty() async throws {
        let page = try await list(Listing())
        #expect(page.objects.isEmpty && page.next == nil)
        let nothing = try await list(Listing(content: "<Contents2/>"))
        #expect(nothing.objects.isEmpty)
    }
}
