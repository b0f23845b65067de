import Foundation
import LarderTestSupport
import Testing

/// Completion scripts, and the URLs that they request from larder.
@Suite struct CompletionTests {
    /// Completes the last word as a shell's script does.
    private func names(
        _ words: String..., environment: [String: String] = [:]
    ) throws -> [String] {
        let finished = try LarderBinary().run(
            ["---completion", words[0], "--", "positional@0", "\(words.count)"]
                + ["\(words.last?.count ?? 0)", "larder"] + words,
            environment: environment)
        #expect(finished.status == 0 && finished.standardError.isEmpty, "\(finished)")
        return finished.standardOutput.split(separator: "\n").map(String.init)
    }

    @Test(arguments: ["bash", "zsh", "fish"])
    func completionScriptsOfferEveryOption(_ shell: String) throws {
        let finished = try LarderBinary().run(["--generate-completion-script", shell])
        #expect(finished.status == 0 && finished.standardError.isEmpty, "\(finished)")
        for option in try Definitions().commands.flatMap(\.options) {
            let name = shell == "fish" ? "-l '\(option.dropFirst(2))'" : option
            #expect(finished.standardOutput.contains(name), "\(option)")
        }
    }

    @Test func aCompletionScriptForAnUnknownShellIsRefused() throws {
        let finished = try LarderBinary().run(["--generate-completion-script", "tcsh"])
        #expect(finished.status == 64 && finished.standardOutput.isEmpty, "\(finished)")
    }

    @Test func cachedURLsAreOffered() async throws {
        try await withFixture { larder in
            let base = larder.origin.url("")
            larder.origin.onAny { _ in Icons.reply(1) }
            let urls = [
                "/a/one.png", "/a/two.png?x=1&y='z'", "/b", "/a/deep/er", "/a/t?token=abcdefgh",
                "/$(id)",
            ]
            .map { base + $0 }
            let manifest = try larder.manifest(
                urls.map { ["icon": $0] } + [
                    ["icon": base + "/k", "key": "my app\n"],
                    ["icon": base + "/l", "key": "$(id)"],
                ])
            #expect(try larder.prefetch(manifest).status == 0)
            let all = [urls[3], urls[0], base + "/a/two.png?x=1&y=%27z%27", urls[2]]
            // URLs with secrets, or with commands to a shell or terminal, are not offered.
            #expect(try names("path", "--cache", larder.cache, "") == all)
            #expect(try names("path", "--cache=\(larder.cache)", "") == all)
            #expect(try names("path", "--cache", "=", larder.cache, "") == all)
            #expect(try names("cat", "--cache", "'\(larder.cache)'", base + "/a/o") == [urls[0]])
            #expect(try names("pin", "--cache", larder.cache, "\"\(base)/b") == [urls[2]])
            #expect(try names("path", "--cache", larder.cache, "key:").isEmpty)
            // `unpin` offers only pinned URLs.
            #expect(try names("unpin", "--cache", larder.cache, "").isEmpty)
            #expect(try larder.run("pin", urls[2]).status == 0)
            #expect(try names("unpin", "--cache", larder.cache, "") == [urls[2]])
            // The cache directory is found as in other commands.
            #expect(try names("path", "", environment: ["LARDER_CACHE": larder.cache]) == all)
            let file = try larder.write("--cache=\(larder.cache)".utf8, to: "larder.conf")
            let named = ["LARDER_CONFIG_PATH": file]
            #expect(try names("path", "", environment: named) == all)
            #expect(try names("path", "--no-config", "", environment: named).isEmpty)
            let home = ["HOME": larder.directory.path]
            #expect(try names("path", "--cache", "~/cache", "", environment: home) == all)
            // Zsh reads text after a colon as a description, and expects one more line.
            let zsh = try names(
                "path", "--cache", larder.cache, urls[2], environment: ["SAP_SHELL": "zsh"])
            #expect(zsh == [urls[2].replacing(":", with: "\\:"), " "])
        }
    }

    /// A shell inserts the common prefix of the offered URLs, so it must be common to all URLs.
    @Test func onlySomeOfManyCachedURLsAreOffered() async throws {
        try await withFixture { larder in
            larder.origin.onAny { _ in Icons.reply(1) }
            let base = larder.origin.url("/")
            let manifest = try larder.manifest(
                urls: (1000..<1500).map { "\(base)a/\($0)" } + [base + "b"])
            #expect(try larder.prefetch(manifest).status == 0)
            let names = try names("path", "--cache", larder.cache, base + "a/")
            #expect(names.count == 201)
            #expect(names.first == base + "a/1000" && names.last == base + "a/1499")
        }
    }

    @Test func completionCreatesAndChangesNothing() async throws {
        try await withFixture { larder in
            #expect(try names("path", "--cache", larder.cache, "").isEmpty)
            #expect(!FileManager.default.fileExists(atPath: larder.cache))
            _ = try larder.write("no index".utf8, to: "file")
            #expect(try names("cat", "--cache", larder.directory.path("file"), "").isEmpty)
        }
    }
}
