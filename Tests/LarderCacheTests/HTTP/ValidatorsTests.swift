import Testing

@testable import LarderCache

@Suite struct ValidatorsTests {
    private func validators(_ fields: [(String, String)]) -> Validators {
        Validators { name in fields.filter { $0.0 == name }.map(\.1) }
    }

    @Test func validatorsAreReadFromTheResponse() {
        let read = validators([
            ("ETag", "\"1\""), ("ETag", "\"2\""), ("Last-Modified", "a"), ("Date", "b"),
            ("Age", "7"), ("Cache-Control", "max-age=1"), ("Cache-Control", "immutable"),
            ("Expires", "c"), ("Vary", "Foo"), ("Vary", "Bar"), ("Other", "d"),
        ])
        var expected = Validators()
        expected.etag = "\"1\""
        expected.lastModified = "a"
        expected.date = "b"
        expected.age = 7
        expected.cacheControl = "max-age=1, immutable"
        expected.expires = "c"
        expected.vary = "Foo, Bar"
        #expect(read == expected)
        #expect(validators([]) == Validators())
    }

    /// RFC 9111, section 3.2.
    @Test func a304ReplacesOnlyTheFieldsThatItContains() {
        let stored = validators([
            ("ETag", "\"1\""), ("Last-Modified", "a"), ("Date", "b"), ("Age", "7"),
            ("Cache-Control", "max-age=1"), ("Expires", "c"), ("Vary", "Foo"),
        ])
        var kept = stored
        (kept.date, kept.age) = (nil, nil)
        #expect(Validators().completed(from: stored) == kept)
        let new = validators([
            ("ETag", "W/\"1\""), ("Last-Modified", "A"), ("Date", "B"), ("Age", "0"),
            ("Cache-Control", "max-age=2"), ("Expires", "C"), ("Vary", "Bar"),
        ])
        #expect(new.completed(from: stored) == new)
        let some = validators([("Date", "B"), ("Cache-Control", "max-age=3600")])
        kept.date = "B"
        kept.cacheControl = "max-age=3600"
        #expect(some.completed(from: stored) == kept)
    }

    /// RFC 9111, section 4.3.4, with the weak comparison of RFC 9110, section 8.8.3.2.
    @Test(arguments: [
        ("\"1\"", "\"1\"", true), ("\"1\"", "\"2\"", false), ("W/\"1\"", "\"1\"", true),
        ("\"1\"", "W/\"1\"", true), ("W/\"1\"", "W/\"1\"", true), ("W/\"1\"", "W/\"2\"", false),
        ("\"1\"", "W/\"2\"", false), ("w/\"1\"", "\"1\"", false), ("1", "\"1\"", false),
        (nil, "\"1\"", true), ("\"1\"", nil, true), (nil, nil, true),
    ])
    func a304ConfirmsOnlyTheSameETag(_ answer: String?, _ stored: String?, _ vouches: Bool) {
        var (answered, known) = (Validators(), Validators())
        (answered.etag, known.etag) = (answer, stored)
        #expect(answered.vouch(for: known) == vouches)
    }

    private static let date = "Sun, 06 Nov 1994 08:49:37 GMT"

    @Test(arguments: [
        ([("ETag", "\"1\"")], ["If-None-Match: \"1\""]),
        ([("ETag", "W/\"1\"")], ["If-None-Match: W/\"1\""]),
        ([("ETag", "unquoted")], ["If-None-Match: unquoted"]),
        ([("Last-Modified", date)], ["If-Modified-Since: \(date)"]),
        (
            [("Last-Modified", "Sunday, 06-Nov-94 08:49:37 GMT")],
            ["If-Modified-Since: Sunday, 06-Nov-94 08:49:37 GMT"]
        ),
        (
            [("ETag", "\"1\""), ("Last-Modified", date)],
            ["If-None-Match: \"1\"", "If-Modified-Since: \(date)"]
        ),
        ([("ETag", "\"1\""), ("Last-Modified", "yesterday")], ["If-None-Match: \"1\""]),
        ([("Last-Modified", "0")], []), ([("ETag", "\"\u{1}\"")], []), ([], []),
    ])
    func aConditionalRequestSendsEveryValidator(_ fields: [(String, String)], _ expected: [String])
    {
        let sent = validators(fields).conditions().map { "\($0.name): \($0.value)" }
        #expect(sent == expected)
    }

    /// Two variants may have been modified in the same second.
    @Test func anotherVariantIsConfirmedByItsETagOnly() {
        let both = validators([("ETag", "\"1\""), ("Last-Modified", Self.date)])
        #expect(both.conditions(sameVariant: false).map(\.name) == ["If-None-Match"])
    }
}
