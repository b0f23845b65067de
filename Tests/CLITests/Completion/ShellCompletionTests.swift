import Foundation
import LarderTestSupport
import Testing

/// Completion in the real shells, each on a terminal of its own.
@Suite(.timeLimit(.minutes(10))) struct ShellCompletionTests {
    /// A shell that completes larder's command lines.
    enum Shell: String, CaseIterable {
        case bash, zsh, fish

        /// Nil where it is not installed.
        var path: String? {
            ["/bin/", "/usr/bin/", "/opt/homebrew/bin/", "/usr/local/bin/"].map { $0 + rawValue }
                .first(where: FileManager.default.isExecutableFile)
        }

        /// Starts it as a person does whose settings load the script.
        func start(in directory: TemporaryDirectory) throws -> TerminalProcess {
            let larder = try LarderBinary()
            let script = try larder.run(["--generate-completion-script", rawValue]).standardOutput
            let file = directory.path("completion")
            try script.write(toFile: file, atomically: true, encoding: .utf8)
            let settings: String
            let arguments: [String]
            switch self {
            case .bash:
                settings = "PS1='ready> '; source '\(file)'"
                arguments = ["--noprofile", "--rcfile", directory.path(".zshrc"), "-i"]
            case .zsh:
                settings =
                    "PROMPT='ready> '; autoload -U compinit; compinit -u -D; source '\(file)'"
                arguments = ["-i"]
            case .fish:
                settings = "source '\(file)'; function fish_prompt; echo -n 'ready> '; end"
                arguments = ["--no-config", "-i", "-C", "source '\(directory.path(".zshrc"))'"]
            }
            try (settings + "\n").write(
                toFile: directory.path(".zshrc"), atomically: true, encoding: .utf8)
            let folder = URL(fileURLWithPath: larder.path).deletingLastPathComponent().path
            let shell = try TerminalProcess(
                try #require(path), arguments, columns: 200,
                environment: [
                    "PATH": "\(folder):/usr/bin:/bin", "HOME": directory.path, "TERM": "xterm",
                    "ZDOTDIR": directory.path, "LANG": "C.UTF-8", "HISTFILE": "/dev/null",
                ], directory: directory.path)
            try shell.read(to: "ready> ")
            return shell
        }
    }

    @Test(.enabled(if: Shell.bash.path != nil, "bash is not installed")) func inBash() async throws
    {
        try await drive(.bash)
    }

    @Test(.enabled(if: Shell.zsh.path != nil, "zsh is not installed")) func inZsh() async throws {
        try await drive(.zsh)
    }

    @Test(.enabled(if: Shell.fish.path != nil, "fish is not installed")) func inFish() async throws
    {
        try await drive(.fish)
    }

    /// Words are completed by Tab, and the command that comes of it does what it says: nothing of
    /// that was typed.
    private func drive(_ shell: Shell) async throws {
        try await withFixture { larder in
            larder.origin.onAny { _ in Icons.reply(1) }
            // With what a shell would take for its own.
            let icon = larder.origin.url("/icons/one.png?size=64&x=$(id)'s")
            let other = larder.origin.url("/icons/two.png")
            #expect(try larder.prefetch(larder.manifest(icon, other, name: "my apps")).status == 0)
            let terminal = try shell.start(in: larder.directory)

            // A command, an option, a directory, a list of values.
            try terminal.type("larder stat\t--ca\tcac\t --form\tprom\t\r")
            try terminal.read(to: "larder_resources{cache=")
            try terminal.read(to: "ready> ")
            // A file whose name has a blank.
            try terminal.type("larder plan --cache=cac\t my\t\r")
            try terminal.read(to: "2 entries (plain")
            try terminal.read(to: "ready> ")
            // A URL, which has colons, a part at a time.
            try terminal.type("larder path --cache cache http:\tic\to\t\r")
            try terminal.read(to: "/cache/objects/sha256/")
            try terminal.read(to: "ready> ")

            // Where larder cannot answer, files are still offered: a program of its name that
            // knows nothing of this.
            let fake = try larder.write("#!/bin/sh\n[ $1 = print ] && cat $2\n".utf8, to: "larder")
            #expect(chmod(fake, 0o755) == 0)
            _ = try larder.write("what is in it".utf8, to: "of-mine")
            try terminal.type("./larder print of\t\r")
            try terminal.read(to: "what is in it")
        }
    }

    /// Readline gives bash's function words that it has split at colons, or not, as the user has
    /// it, and replaces the last of them.
    @Test(
        .enabled(if: Shell.bash.path != nil, "bash is not installed"),
        arguments: [
            (["http", ":", "//a"], "//a.example/"), (["http", ":"], "//a.example/"),
            (["http:"], "http://a.example/"), (["http://a"], "http://a.example/"),
            (["\"http://a"], "http://a.example/"), (["'http://a"], "http://a.example/"),
            (["http", ":", "//a.example/d"], #"//a.example/d\'\?x=1\&y=\$z"#),
            (["\"http://a.example/d"], #"http://a.example/d'?x=1&y=\$z"#),
            (["'http://a.example/d"], #"http://a.example/d'\''?x=1&y=$z"#),
            ([#"http://a.example/d\'"#], #"http://a.example/d\'\?x=1\&y=\$z"#),
            (["key", ":"], #"my\ app"#),
        ])
    func wordsOfBash(_ words: [String], _ reply: String) async throws {
        try await withFixture { larder in
            larder.origin.onAny { _ in Icons.reply(1) }
            let manifest = try larder.manifest([
                ["icon": "http://a.example/d'?x=1&y=$z"],
                ["icon": larder.origin.url("/"), "key": "my app"],
            ])
            let address = larder.origin.url("").dropFirst("http://".count)
            #expect(
                try larder.prefetch(manifest, options: ["--connect-to", "a.example:80:\(address)"])
                    .status == 0)
            let script = try larder.binary.run(["--generate-completion-script", "bash"])
            let file = try larder.write(script.standardOutputBytes, to: "completion")
            let program = """
                source '\(file)'; COMP_LINE=$1 COMP_POINT=${#1}; shift; COMP_WORDS=("$@")
                COMP_CWORD=$(($# - 1)); _larder; printf '%s\\n' "${COMPREPLY[@]}"
                """
            let line = [larder.binary.path, "path", "--cache", larder.cache]
            let finished = try RunningProcess(
                try #require(Shell.bash.path),
                ["--norc", "-c", program, "bash", (line + [words.joined()]).joined(separator: " ")]
                    + line + words
            ).wait()
            #expect(finished.standardOutput == reply + "\n", "\(finished)")
        }
    }
}
