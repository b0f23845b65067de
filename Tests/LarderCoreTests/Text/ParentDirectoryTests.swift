import Testing

@Suite struct ParentDirectoryTests {
    /// What dirname(1) prints.
    @Test(arguments: [
        ("b", "."), ("é", "."), ("b/", "."), ("a/b", "a"), ("a/b//", "a"), ("a//b", "a"),
        ("/b", "/"),
        ("/", "/"), ("//", "/"), ("/a/b", "/a"), ("", "."), ("./b", "."), ("..", "."),
    ])
    func isWhereTheLastNameLies(_ path: String, _ parent: String) {
        #expect(path.parentDirectory == parent)
    }
}
