import ArgumentParser
import CLarderCommit
import Foundation
import LarderCache
import LarderCore
import LarderHTTP
import LarderPrefetch

@main
struct Larder: AsyncParsableCommand {
    static func main() async {
        StandardStreams.ensureOpen()
        ProcessLimits.requireSome()
        ForeignBytes.check()
        ProcessMemory.keepHeapsSmall()
        SharedMemory.guardAgainstFailingDisk()
        CurlHosts.install()
        // On Linux, Swift reads the arguments from /proc, and adds an empty one if there are none.
        if CommandLine.arguments.allSatisfy(\.isEmpty) {
            leave(
                saying: "Error: The system passed no arguments to larder. "
                    + "Start larder by its name. In a chroot, mount /proc first.",
                .validationFailure)
        }
        Suggestion.optionsInUse = { OptionsInUse.text(for: $0) }
        let words = CommandLine.arguments.dropFirst().map(\.expandingHome)
        let included = ConfigFile.withoutExclusion(words)
        let usesFile = included.count == words.count
        let arguments = NamedCommand.withGroup(included)
        if let help = NamedCommand.help(requestedBy: arguments) {
            print(help)
            leave(0)
        }
        var command = parsedCommand(arguments, usesFile: usesFile)
        ProcessMemory.releaseText()
        if let command = command as? any AsyncParsableCommand, !(command is Larder) {
            leave(await ExitStatus.of(command).rawValue)
        }
        do {
            try command.run()
            leave(0)
        } catch {
            leave(saying: fullMessage(for: error), exitCode(for: error))
        }
    }

    private static func leave(saying message: String, _ status: ExitCode) -> Never {
        let text = message.split(separator: "\n", omittingEmptySubsequences: false)
            .map { String($0).sanitizedForTerminal }.joined(separator: "\n")
        if !text.isEmpty { Console.writeMessage(text) }
        leave(status.rawValue)
    }

    /// Calls a subcommand's parser directly, which saves a quarter of the time of a short run. With
    /// `_superCommandName`, the parser does not look for `--generate-completion-script`.
    private static func parsedCommand(
        _ arguments: [String], usesFile: Bool
    ) -> any ParsableCommand {
        let (named, given) = NamedCommand.program.find(arguments)
        do {
            try NamedCommand.program.check(arguments)
            if !named.isGroup, !arguments.contains(where: NamedCommand.isForProgram) {
                var file: ConfigFile?
                do { if usesFile { file = try ConfigFile.load(for: named) } } catch {
                    leave(saying: "Error: \(error)", ExitStatus.code(of: error))
                }
                let result: Result<any ParsableCommand, any Error> =
                    file?.parse(given, of: named) ?? Result { try named.type.parseAsRoot(given) }
                ConfigFile.inUse.withLock { [file] in $0 = file }
                let words = (file?.used ?? []).map(\.argument) + given
                if let command = try? result.get(), type(of: command) == named.type {
                    return command
                }
                let unknown = named.messageOnUnknownOption(in: words)
                // Without words, this parser would print its help.
                if case .failure(let error) = result, !words.isEmpty {
                    let message = unknown ?? named.message(for: error, in: words)
                    leave(saying: file?.locating(message) ?? message, .validationFailure)
                }
                // The parser interprets the `h` of a misspelt `-cache` as a request for help.
                if let unknown { leave(saying: unknown, .validationFailure) }
            }
            return try parseAsRoot(arguments)
        } catch {
            let status = exitCode(for: error)
            guard status.isSuccess else { leave(saying: fullMessage(for: error), status) }
            print(fullMessage(for: error))
            leave(0)
        }
    }

    /// Exits without running libraries' exit handlers. OpenSSL's would load 3 MB into memory.
    private static func leave(_ status: Int32) -> Never {
        do { try Console.flush() } catch {
            Console.complain("\(error)")
            let interruptions = [ExitStatus.interrupted.rawValue, ExitStatus.terminated.rawValue]
            if !interruptions.contains(status) { _exit(ExitStatus(error).rawValue) }
        }
        _exit(status)
    }

    /// For example `larder 0.2.0 (1a2b3c4d5e6f, libcurl 7.88.1)`. Only packages contain a commit.
    private static var versionText: String {
        let commit = larder_commit().map { String(cString: $0) } ?? "unknown commit"
        return "larder \(LarderVersion.current) (\(commit), libcurl \(CurlLibrary.version))"
    }

    static let configuration = CommandConfiguration(
        commandName: "larder",
        abstract: "Prefetch icons into an offline cache, verify it, and keep it within limits.",
        discussion: """
            The cache directory is --cache DIR, else $LARDER_CACHE, else the user's cache \
            directory. Results go to standard output, progress and messages to standard error.

            Sizes are written as 500kB, 1.5G, 500MB (10^6) or 500MiB (2^20), durations as 90s, \
            1.5h, 30d or 1h30m. A number without a unit is bytes or seconds. A leading ~/ in an \
            argument, $LARDER_CACHE or $LARDER_CONFIG_PATH is your home directory.

            Options can also be in a configuration file: see larder config --help.

            To complete command lines in your shell, load the output of larder \
            --generate-completion-script bash (or zsh, or fish).

            EXAMPLES:
              # Fill a cache, verify it, and keep it within 2 GB.
              larder prefetch apps.plist --cache icons
              larder verify --cache icons
              larder evict --max-size 2GB --cache icons

            EXIT STATUS:
            \(ExitStatus.list)
            """, version: versionText,
        subcommands: [
            PrefetchCommand.self, PlanCommand.self, VerifyCommand.self, StatusCommand.self,
            ListCommand.self, PathCommand.self, CatCommand.self, EvictCommand.self,
            PinCommand.self, UnpinCommand.self, SnapshotCommand.self, ReindexCommand.self,
            ExportCommand.self, ImportCommand.self, LocalizeCommand.self, ServeCommand.self,
            RemoteCommand.self, ConfigCommand.self,
        ])
}

extension NamedCommand { static let program = NamedCommand(name: "", type: Larder.self) }

extension ProcessInfo {
    /// The environment after ``ForeignBytes/check()``. Foundation reads it again for each call.
    static let variables = processInfo.environment
}

/// The check that arguments and environment variables are UTF-8. Swift would replace invalid bytes,
/// so a path would name a different file. On Linux, the cache's path can contain any bytes.
enum ForeignBytes {
    private static let cacheVariable = "LARDER_CACHE"
    private static let variables = [
        cacheVariable, "XDG_CACHE_HOME", ConfigFile.variable, "XDG_CONFIG_HOME", "HOME", "TMPDIR",
        "SQLITE_TMPDIR", "NETRC", "CURL_CA_BUNDLE", "SSL_CERT_FILE", "SHELL", "http_proxy",
        "https_proxy", "all_proxy", "no_proxy", "HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY",
        "NO_PROXY",
    ]

    /// Also unsets empty variables. Runs before threads start, because it changes the environment.
    static func check() {
        let arguments = (0..<Int(CommandLine.argc)).compactMap { CommandLine.unsafeArgv[$0] }
        for (number, argument) in arguments.enumerated().dropFirst()
        where String(validatingCString: argument) == nil {
            let isCache =
                String(cString: argument).hasPrefix("--cache=")
                || String(cString: arguments[number - 1]) == "--cache"
            guard isCache, keepsBytes else { leave("argument \(number)", argument) }
            // Must run before the first use of `CommandLine.arguments`, which copies the arguments.
            CommandLine.unsafeArgv[number] = strdup(String(path: argument))
        }
        let awsVariables = ProcessInfo.processInfo.environment.keys.filter { $0.hasPrefix("AWS_") }
        for name in variables + awsVariables {
            guard let value = getenv(name) else { continue }
            if String(validatingCString: value) == nil {
                guard name == cacheVariable, keepsBytes else { leave("$\(name)", value) }
                setenv(name, String(path: value), 1)
            }
            // An empty value of these variables has a meaning: no proxy, or no configuration file.
            let isMeaningful = name == ConfigFile.variable || name.lowercased().hasSuffix("_proxy")
            if value.pointee == 0, !isMeaningful { unsetenv(name) }
        }
    }

    #if os(Linux)
        private static let keepsBytes = true
    #else
        private static let keepsBytes = false
    #endif

    private static func leave(_ subject: String, _ bytes: UnsafePointer<CChar>) -> Never {
        let text = String(cString: bytes).quoted(limit: 200)
        Console.complain("\(subject) is not UTF-8: \(text); use another name")
        _exit(ExitCode.validationFailure.rawValue)
    }
}
