import Foundation
import LarderTestSupport
import Testing

/// What may stand at the end of a command line, as all shells ask for it.
@Suite struct CompletionTests {
    private func answer(
        _ words: [String], environment: [String: String] = [:]
    ) throws -> (kind: String, words: [String]) {
        let finished = try LarderBinary().run(["---complete"] + words, environment: environment)
        #expect(finished.status == 0 && finished.standardError.isEmpty, "\(finished)")
        let lines = finished.standardOutput.split(separator: "\n")
        let words = lines.dropFirst().map { line in String(line.prefix { $0 != "\t" }) }
        return (String(lines.first ?? ""), words)
    }

    @Test(arguments: [
        (["pre"], ["prefetch"]), (["help", "pre"], ["prefetch"]),
        (["help", "prefetch", "-"], ["--all"]),
        (["remote", "p"], ["push", "pull"]), (["help", "remote", "e"], ["evict"]),
        (["remote", "push", "--js"], ["--json"]), (["remote", "-"], ["--help"]),
        (["--generate-c"], ["--generate-completion-script"]),
        (["--generate-completion-script", "f"], ["fish"]),
        (["evict", "--by", ""], ["used", "fetched"]),
        (["evict", "--by=f"], ["--by=fetched"]),
        (["evict", "--dry"], ["--dry-run"]),
        (
            ["status", "-"],
            [
                "--cache", "--color", "--format", "--json",
                "--output", "--help",
            ]
        ),
        // A command that takes no argument has only options.
        (["status", "--json", ""], ["--cache", "--color", "--format", "--output", "--help"]),
        // What was given is not offered again, unless it may be repeated.
        (["evict", "--max-size", "1GB", "--max-s"], []),
        (["evict", "--keep", "a.json", "--kee"], ["--keep"]),
        // The value of an option is no argument.
        (["prefetch", "--report", "--js"], []),
    ])
    func words(_ line: [String], _ words: [String]) throws {
        let answer = try answer(line)
        #expect(answer.words == words)
        #expect(answer.kind == (words.isEmpty ? "files" : "words"))
    }

    @Test(arguments: [
        (["prefetch", ""], "files"), (["prefetch", "a.json", ""], "files"),
        (["prefetch", "--report", ""], "files"), (["prefetch", "--report="], "files"),
        (["prefetch", "--max-concurrent", ""], "files"), (["prefetch", "--", "-"], "files"),
        (["prefetch", "--cache", ""], "directories"), (["prefetch", "--cache=x"], "directories"),
        (["snapshot", ""], "directories"), (["snapshot", "a", "b"], "files"),
        (["--generate-manual", ""], "directories"),
        (["nonsuch", ""], "files"), (["nonsuch"], "files"), (["path", "x"], "files"),
        (["pin", "./a"], "files"), (["status", "xyz"], "files"),
        (["prefetch", "--nonsuch"], "files"),
    ])
    func filesWhereNothingElseIsKnown(_ line: [String], _ kind: String) throws {
        let answer = try answer(line, environment: ["LARDER_CACHE": "/nonexistent"])
        #expect(answer.kind == kind)
        #expect(answer.words.isEmpty)
    }

    @Test func everyOptionIsOffered() throws {
        for command in try Definitions().commands {
            let words = try answer(command.words + ["--"]).words
            #expect(Set(command.options).isSubset(of: words), "\(command.name)")
        }
    }

    /// URLs are completed as paths are, a part at a time.
    @Test func cachedURLs() async throws {
        try await withFixture { larder in
            let base = larder.origin.url("")
            larder.origin.onAny { _ in Icons.reply(1) }
            let urls = [
                "/a/one.png", "/a/two.png?x=1&y='z'", "/b", "/a/deep/er", "/a/t?token=abcdefgh",
            ]
            .map { base + $0 }
            let manifest = try larder.manifest(
                urls.map { ["icon": $0] } + [["icon": base + "/k", "key": "my app\n"]])
            #expect(try larder.prefetch(manifest).status == 0)
            func offered(_ text: String, _ command: String = "path") throws -> [String] {
                let answer = try answer([command, "--cache", larder.cache, text])
                #expect(answer.kind == "words")
                return answer.words
            }
            #expect(try offered("") == [base + "/"])
            #expect(try offered(base + "/") == [base + "/a/", base + "/b"])
            // Neither secrets nor what a terminal would obey.
            let below = [base + "/a/deep/", urls[0], base + "/a/two.png?x=1&y=%27z%27"]
            #expect(try offered(base + "/a/", "cat") == below)
            #expect(try offered(base + "/a/o", "pin") == [urls[0]])
            #expect(try answer(["path", "--cache=\(larder.cache)", "key:"]).kind == "files")
            // What can be unpinned was pinned.
            #expect(try answer(["unpin", "--cache", larder.cache, ""]).kind == "files")
            #expect(try larder.run("pin", urls[2]).status == 0)
            #expect(try offered(base, "unpin") == [base + "/"])
            #expect(try offered(base + "/", "unpin") == [urls[2]])
            // The directory may be named as usual.
            let variable = ["LARDER_CACHE": larder.cache]
            #expect(try answer(["path", ""], environment: variable).words == [base + "/"])
            let home = ["HOME": larder.directory.path]
            #expect(
                try answer(["path", "--cache", "~/cache", ""], environment: home).words == [
                    base + "/"
                ])
        }
    }

    /// However many there are, few are read and offered, and what these have in common is common
    /// to all: a shell inserts it.
    @Test func manyCachedURLs() async throws {
        try await withFixture { larder in
            larder.origin.onAny { _ in Icons.reply(1) }
            let base = larder.origin.url("/")
            let manifest = try larder.manifest(
                urls: (1000..<1500).map { "\(base)a/\($0)" } + [base + "b"])
            #expect(try larder.prefetch(manifest).status == 0)
            let answer = try answer(["path", "--cache", larder.cache, base + "a/"])
            #expect(answer.words.count == 201)
            #expect(answer.words.first == base + "a/1000" && answer.words.last == base + "a/1499")
            // All of those below are one.
            #expect(
                try self.answer(["path", "--cache", larder.cache, base]).words
                    == [base + "a/", base + "b"])
        }
    }

    /// It only looks.
    @Test func nothingIsMadeOrChanged() async throws {
        try await withFixture { larder in
            #expect(try answer(["path", "--cache", larder.cache, ""]).kind == "files")
            #expect(!FileManager.default.fileExists(atPath: larder.cache))
            // Nor is a cache that is in use by a reindex waited for.
            _ = try larder.write("no index".utf8, to: "file")
            #expect(
                try answer(["cat", "--cache", larder.directory.path("file"), ""]).kind == "files")
        }
    }
}
