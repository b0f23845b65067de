import Foundation
import LarderTestSupport
import Testing

/// Random documents, of which libxml2 must return the same nodes with and without the filter.
///
/// `LARDER_XML_DOCUMENTS` sets the number of documents (default: 4,000).
@Suite(.timeLimit(.minutes(60))) struct RandomDocumentTests {
    private static let count =
        ProcessInfo.processInfo.environment["LARDER_XML_DOCUMENTS"].flatMap { Int($0) } ?? 4000

    @Test(arguments: [false, true])
    func theFilterDoesNotChangeTheNodesOfADocument(isList: Bool) throws {
        var passed = 0
        for seed in 0..<Self.count {
            var document = RandomDocument(seed: seed, isList: isList)
            let bytes = document.bytes()
            let size = document.isOneOf(4) ? 1 + document.number(64) : 64 << 10
            let events = try? XMLEvent.filtered(
                bytes, isList ? .list() : .any(), bufferSize: size)
            guard let events, let expected = XMLEvent.unfiltered(bytes) else { continue }
            passed += 1
            guard events != expected else { continue }
            Issue.record("seed \(seed): \(String(decoding: bytes, as: UTF8.self).debugDescription)")
        }
        // Enough documents must be readable for a meaningful comparison.
        #expect(passed > Self.count / 4, "\(passed)")
    }
}

/// A generator of mostly well-formed documents.
private struct RandomDocument {
    private var random: Pseudorandom
    private let isList: Bool

    init(seed: Int, isList: Bool) {
        random = Pseudorandom(seed: seed)
        self.isList = isList
    }

    mutating func number(_ limit: Int) -> Int { random.next(below: limit) }
    mutating func isOneOf(_ count: Int) -> Bool { number(count) == 0 }
    private mutating func one(_ texts: [String]) -> String { texts[number(texts.count)] }

    mutating func bytes() -> [UInt8] {
        var text = isOneOf(3) ? "<?xml version='1.0' encoding=\"UTF-8\"?>" : ""
        if isOneOf(4) { text += noise() + "<!DOCTYPE a PUBLIC \"x>\" 'y'>" }
        text += noise() + element(isList ? "plist" : name(), depth: 0) + noise()
        var bytes = Array(text.utf8)
        // Some documents are damaged. They are compared only if both readers accept them.
        for _ in 0..<(isOneOf(4) ? 1 + number(3) : 0) where !bytes.isEmpty {
            let place = number(bytes.count)
            switch number(3) {
            case 0: bytes.remove(at: place)
            case 1: bytes.insert(Array("<>&;'\"/!-[]? \u{0}a".utf8)[number(15)], at: place)
            default: bytes[place] = UInt8(number(256))
            }
        }
        return bytes
    }

    private mutating func name() -> String {
        isList
            ? one(["array", "dict", "key", "string"])
            : one(["a", "b-1", "x:y", "é", "_", "ListBucketResult", "array"])
    }

    private mutating func element(_ name: String, depth: Int) -> String {
        let attributes = isOneOf(4) ? attribute() : ""
        if isOneOf(8) { return "<\(name)\(attributes)\(blank())/>" }
        var content = ""
        let isContainer = ["plist", "array", "dict"].contains(name)
        for _ in 0..<number(depth > 5 ? 1 : 5) {
            switch number(4) {
            case 0, 1:
                if !isList || isContainer { content += element(self.name(), depth: depth + 1) }
            case 2: content += isList && isContainer ? blank() : text()
            default: content += noise()
            }
        }
        return "<\(name)\(attributes)\(blank())>\(content)</\(name)\(blank())>"
    }

    private mutating func attribute() -> String {
        one([
            " a='b>'", "\n xmlns=\"http://a.example/\"", " xml:space='preserve' b = \"/\"",
            " xmlns:x='u'", " a='&lt;' b='&#10;'",
        ])
    }

    /// CDATA sections have no CR, because libxml2's reader does not normalise it as XML 1.0,
    /// section 2.11 requires.
    private mutating func text() -> String {
        one([
            "a", "é🍎", " b ", "&amp;", "&#x41;&#233;", "&lt;x&gt;", "\r\n", "\t", "]] >", "\"'",
            ">",
            "<![CDATA[]]>", "<![CDATA[<a>&b;]]]]>", "<![CDATA[]>]\n]]>", "x\u{301}",
            "https://a.example/?a=1&amp;b=2#c",
        ])
    }

    private mutating func noise() -> String {
        one([
            "", "", blank(), "<!---->", "<!-- <a> & -->", "<?p?>", "<?p <a ?? > ?>",
            "<!--\n\n-->",
        ])
    }

    private mutating func blank() -> String { one(["", "", " ", "\n", "\t\r\n "]) }
}
