import Testing

@testable import LarderServer

@Suite struct EntityTagListTests {
    @Test(arguments: [
        ("\"a\"", true), ("W/\"a\"", true), ("\"b\", \"a\"", true), ("\"b\",W/\"a\" , \"c\"", true),
        ("*", true), (" * ", true), (",, \"a\"", true), ("\"x,\",\"a\"", true),
        ("a", false), ("\"A\"", false), ("\"b\"", false), ("", false), ("\"a", false),
        ("\"b\" *", false), ("*, \"b\"", false), ("w/\"a\"", false),
    ])
    func ifNoneMatchComparesTagsWeakly(_ field: String, _ matches: Bool) {
        #expect(EntityTagList(field).matches("\"a\"", weakly: true) == matches)
    }

    @Test(arguments: [
        ("\"a\"", true), ("W/\"a\"", false), ("W/\"a\", \"a\"", true), ("*", true),
        ("\"b\"", false), ("", false),
    ])
    func ifMatchComparesTagsStrongly(_ field: String, _ matches: Bool) {
        #expect(EntityTagList(field).matches("\"a\"", weakly: false) == matches)
    }

    @Test(arguments: [
        ("\"a\"", true), (" \"a\"\t", true), ("W/\"a\"", false), ("\"a\", \"b\"", false),
        ("Sun, 06 Nov 1994 08:49:37 GMT", false), ("*", false),
    ])
    func ifRangeComparesASingleTagStrongly(_ field: String, _ isSame: Bool) {
        #expect(EntityTagList(field).isStrongly("\"a\"") == isSame)
    }
}
