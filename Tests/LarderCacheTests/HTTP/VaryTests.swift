import LarderTestSupport
import Testing

@testable import LarderCache
@testable import LarderCore

@Suite struct VaryTests {
    @Test(arguments: [
        "*", "*, *", ", *", "*, Foo", "Foo, *", " * ", "Foo,*,Bar",
    ])
    func anAsteriskAnywhereInVaryIsFound(_ field: String) {
        #expect(Vary(field).isAny)
    }

    @Test(arguments: [
        ("Accept", ["accept"]), ("Foo, Bar , foo", ["bar", "foo"]), ("", []), (" , ,", []),
        // Accept-Encoding does not matter, because bodies are stored decoded.
        ("Accept-Encoding", []), ("accept-encoding, Accept", ["accept"]), ("*", []),
        ("Foo*", ["foo*"]), ("Foo, e\u{301}, Bar", ["bar", "foo"]),
    ])
    func varyNamesTheSelectingFields(_ field: String, _ names: [String]) {
        #expect(Vary(field).names == names)
    }

    private static let sent = [("Accept", "image/*"), ("Foo", "1"), ("Bar", "abc")]

    private func variant(_ field: String, _ fields: [(String, String)]) -> Digest? {
        Vary(field).variant(for: fields.map { (name: $0.0, value: $0.1) })
    }

    @Test func thereIsOneVariantIfNoFieldSelects() {
        for field in ["", "Accept-Encoding", "*"] {
            #expect(variant(field, Self.sent) == nil)
        }
    }

    @Test(arguments: [
        ("Foo", [("Foo", "1")]), ("foo", [("FOO", "1")]), ("Foo", [("Foo", " 1\t")]),
        ("Foo", [("Foo", "1"), ("Other", "2")]), ("Foo, foo", [("Foo", "1")]),
        ("Foo, Accept-Encoding", [("Foo", "1"), ("Accept-Encoding", "gzip")]),
    ])
    func otherFieldsAndSpellingDoNotChangeTheVariant(_ field: String, _ fields: [(String, String)])
    {
        #expect(variant(field, fields) == variant("Foo", Self.sent))
    }

    @Test(arguments: [
        [("Foo", "2")], [], [("Foo", "")], [("Foo", "1"), ("Foo", "1")], [("Bar", "1")],
        [("Foo", "1x")],
    ])
    func anotherFieldValueSelectsAnotherVariant(_ fields: [(String, String)]) {
        #expect(variant("Foo", fields) != variant("Foo", Self.sent))
    }

    @Test func everyFieldOfVarySelects() {
        let both = variant("Foo, Bar", Self.sent)
        #expect(both == variant("Bar, Foo", Self.sent.reversed()))
        #expect(both != variant("Foo, Bar", [("Foo", "2"), ("Bar", "abc")]))
        #expect(both != variant("Foo, Bar", [("Foo", "1"), ("Bar", "abcde")]))
        #expect(both != variant("Foo, Bar", [("Foo", "1")]))
        #expect(both != variant("Foo, Bar", [("Foo", "abc"), ("Bar", "1")]))
        #expect(both != variant("Foo, Bar, Baz", Self.sent))
    }

    @Test func fieldsOfTheSameNameAreJoinedInOrder() {
        let joined = variant("Foo", [("Foo", "1, 2")])
        #expect(joined == variant("Foo", [("Foo", "1"), ("Foo", "2")]))
        #expect(joined != variant("Foo", [("Foo", "2"), ("Foo", "1")]))
    }

    @Test func fieldsAbsentFromBothRequestsMatch() {
        #expect(variant("Foo, Baz", Self.sent) == variant("Foo, Baz", [("Foo", "1")]))
    }

    @Test func anAbsentFieldDiffersFromAnEmptyOne() {
        #expect(variant("Foo", []) != variant("Foo", [("Foo", "")]))
    }
}
