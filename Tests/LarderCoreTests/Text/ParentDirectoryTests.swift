import Testing

@Suite struct ParentDirectoryTests {
    /// The output of dirname(1).
    @Test(arguments: [
        ("b", "."), ("é", "."), ("b/", "."), ("a/b", "a"), ("a/b//", "a"), ("a//b", "a"),
        ("/b", "/"),
        ("/", "/"), ("//", "/"), ("/a/b", "/a"), ("", "."), ("./b", "."), ("..", "."),
    ])
    func theParentDirectoryOfAPathMatchesDirname(_ path: String, _ parent: String) {
        #expect(path.parentDirectory == parent)
    }
}
