import LarderTestSupport
import Testing

@testable import LarderCache
@testable import LarderCore

@Suite struct VaryTests {
    @Test(arguments: [
        "*", "*, *", ", *", "*, Foo", "Foo, *", " * ", "Foo,*,Bar",

    ])
    func anyIsAnywhere(_ field: String) {
        #expect(Vary(field).isAny)
    }

    @Test(arguments: [
        ("Accept", ["accept"]), ("Foo, Bar , foo", ["bar", "foo"]), ("", []), (" , ,", []),
        // Bodies are decoded: whatever coding they came in, the bytes are the same.
        ("Accept-Encoding", []), ("accept-encoding, Accept", ["accept"]), ("*", []),
        ("Foo*", ["foo*"]), ("Foo, e\u{301}, Bar", ["bar", "foo"]),
    ])
    func namesAreTheFieldsThatSelect(_ field: String, _ names: [String]) {
        #expect(Vary(field).names == names)
    }

    private static let sent = [("Accept", "image/*"), ("Foo", "1"), ("Bar", "abc")]

    private func variant(_ field: String, _ fields: [(String, String)]) -> Digest? {
        Vary(field).variant(for: fields.map { (name: $0.0, value: $0.1) })
    }

    @Test func whereNoFieldSelectsThereIsOneVariant() {
        for field in ["", "Accept-Encoding", "*"] {
            #expect(variant(field, Self.sent) == nil)
        }
    }

    /// The same variant, whatever else is sent and however it is written.
    @Test(arguments: [
        ("Foo", [("Foo", "1")]), ("foo", [("FOO", "1")]), ("Foo", [("Foo", " 1\t")]),
        ("Foo", [("Foo", "1"), ("Other", "2")]), ("Foo, foo", [("Foo", "1")]),
        ("Foo, Accept-Encoding", [("Foo", "1"), ("Accept-Encoding", "gzip")]),
    ])
    func matches(_ field: String, _ fields: [(String, String)]) {
        #expect(variant(field, fields) == variant("Foo", Self.sent))
    }

    @Test(arguments: [
        [("Foo", "2")], [], [("Foo", "")], [("Foo", "1"), ("Foo", "1")], [("Bar", "1")],
        [("Foo", "1x")],
    ])
    func doesNotMatch(_ fields: [(String, String)]) {
        #expect(variant("Foo", fields) != variant("Foo", Self.sent))
    }

    @Test func severalFieldsAllSelect() {
        let both = variant("Foo, Bar", Self.sent)
        #expect(both == variant("Bar, Foo", Self.sent.reversed()))
        #expect(both != variant("Foo, Bar", [("Foo", "2"), ("Bar", "abc")]))
        #expect(both != variant("Foo, Bar", [("Foo", "1"), ("Bar", "abcde")]))
        #expect(both != variant("Foo, Bar", [("Foo", "1")]))
        #expect(both != variant("Foo, Bar", [("Foo", "abc"), ("Bar", "1")]))
        #expect(both != variant("Foo, Bar, Baz", Self.sent))
    }

    @Test func fieldsOfOneNameAreOne() {
        let joined = variant("Foo", [("Foo", "1, 2")])
        #expect(joined == variant("Foo", [("Foo", "1"), ("Foo", "2")]))
        #expect(joined != variant("Foo", [("Foo", "2"), ("Foo", "1")]))
    }

    @Test func whatBothDidNotSendMatches() {
        #expect(variant("Foo, Baz", Self.sent) == variant("Foo, Baz", [("Foo", "1")]))
    }

    /// A field that is not sent is none that is empty.
    @Test func absentIsNotEmpty() {
        #expect(variant("Foo", []) != variant("Foo", [("Foo", "")]))
    }
}
