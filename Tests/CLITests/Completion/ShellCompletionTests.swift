import Foundation
import LarderTestSupport
import Testing

/// Completion in the real shells, each on its own terminal.
@Suite(.timeLimit(.minutes(30))) struct ShellCompletionTests {
    /// A shell that completes larder's command lines.
    enum Shell: String, CaseIterable {
        case bash, zsh, fish

        /// The path of the shell, or nil if it is not installed.
        var path: String? {
            ["/bin/", "/usr/bin/", "/opt/homebrew/bin/", "/usr/local/bin/"].map { $0 + rawValue }
                .first(where: FileManager.default.isExecutableFile)
        }

        /// Starts the shell with settings that load the script.
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

    @Test(.enabled(if: Shell.bash.path != nil, "bash is not installed"))
    func bashCompletesCommandLines() async throws {
        try await drive(.bash)
    }

    @Test(.enabled(if: Shell.zsh.path != nil, "zsh is not installed"))
    func zshCompletesCommandLines() async throws {
        try await drive(.zsh)
    }

    @Test(.enabled(if: Shell.fish.path != nil, "fish is not installed"))
    func fishCompletesCommandLines() async throws {
        try await drive(.fish)
    }

    /// Completes words with Tab and runs the resulting command lines.
    private func drive(_ shell: Shell) async throws {
        try await withFixture { larder in
            larder.origin.onAny { _ in Icons.reply(1) }
            // A shell that expands the first URL would run a command. This URL is not offered.
            let made = larder.directory.path("made")
            let trap = larder.origin.url("/icons/$(touch$IFS'made')`touch$IFS'made'`")
            let icon = larder.origin.url("/icons/two.png?size=64&x=1")
            let manifest = try larder.manifest(trap, icon, name: "my apps.json")
            #expect(try larder.prefetch(manifest).status == 0)
            let terminal = try shell.start(in: larder.directory)

            // Completes a command, an option, a directory, and one of several values.
            try terminal.type("larder stat\t--ca\tcac\t --form\tprom\t\r")
            try terminal.read(to: "larder_resources{cache=")
            try terminal.read(to: "ready> ")
            // Completes a file name with a blank after an option.
            try terminal.type("larder plan --cache cac\t my\t\r")
            try terminal.read(to: "2 entries (plain")
            try terminal.read(to: "ready> ")
            // Completes a URL from the cache in an earlier option.
            try terminal.type("larder path --cache cache ht\t\r")
            try terminal.read(to: "/cache/objects/sha256/")
            try terminal.read(to: "ready> ")
            #expect(!FileManager.default.fileExists(atPath: made))
        }
    }
}
