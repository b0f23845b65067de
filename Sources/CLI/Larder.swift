import ArgumentParser
import Foundation
import LarderCache
import LarderHTTP

@main
struct Larder: AsyncParsableCommand, GuidedCommand {
    static func main() async {
        StandardStreams.ensureOpen()
        ProcessLimits.requireSome()
        ForeignBytes.check()
        Allocator.keepSmall()
        SharedMemory.guardAgainstFailingDisk()
        CurlHosts.install()
        do {
            if try await answer(Array(CommandLine.arguments.dropFirst())) { leave(0) }
            var command = try parsedCommand()
            if var command = command as? any AsyncParsableCommand {
                try await command.run()
            } else {
                try command.run()
            }
            leave(0)
        } catch let code as ExitCode {
            leave(code.rawValue)
        } catch let option as UnknownOption {
            leave(saying: option.message(of: Self.self), ExitCode.validationFailure)
        } catch {
            leave(withError: error)
        }
    }

    /// Answers who asks about the commands, and runs none: help, completions, the manual. False if
    /// the arguments are a command's.
    private static func answer(_ arguments: [String]) async throws -> Bool {
        let help = HelpRequest(arguments, program: self)
        let script = try CompletionScript(arguments)
        let manual = try Manual(arguments, program: self)
        let words = arguments.first == "---complete" ? Array(arguments.dropFirst()) : nil
        try await ExitStatus.of(nil) {
            if let words {
                try Console.print(Array(Completer(program: self).answer(to: words).text.utf8))
            } else if let help {
                let page = try help.page(width: TextWidth.of(STDOUT_FILENO))
                try Console.print(Array(page.text.utf8))
            } else if let script {
                try Console.print(Array(script.text.utf8))
            } else if let manual {
                try manual.write()
            }
        }
        return words != nil || help != nil || script != nil || manual != nil
    }

    /// Ends the program as the argument parser would, with lines that fit the terminal.
    private static func leave(withError error: any Error) -> Never {
        let status = exitCode(for: error)
        if status.isSuccess {
            print(fullMessage(for: error))
            leave(0)
        }
        leave(saying: fullMessage(for: error), status)
    }

    private static func leave(saying message: String, _ status: ExitCode) -> Never {
        var text = message.split(separator: "\n", omittingEmptySubsequences: false)
            .map { String($0).sanitizedForTerminal }.joined(separator: "\n")
        if isatty(STDERR_FILENO) == 1 {
            text = text.wrapped(to: TextWidth.of(STDERR_FILENO), hanging: 2)
        }
        if !text.isEmpty { Console.write(text + "\n") }
        leave(status.rawValue)
    }

    /// The subcommand, parsed on its own if its name comes first: on the way through the root, the
    /// parser would reflect on all of its options twice more, which in a debug build, where it
    /// validates them each time, was a quarter of a short run.
    ///
    /// Where that fails, the root parses once more: it has the version, and says whose usage it is.
    private static func parsedCommand() throws -> any ParsableCommand {
        let program = NamedCommand(program: self)
        let arguments = Array(CommandLine.arguments.dropFirst())
        let (named, words) = program.find(arguments)
        if !named.isGroup, let command = try? named.type.parseAsRoot(words),
            type(of: command) == named.type
        {
            return command
        }
        try program.check(arguments)
        do {
            return try parseAsRoot()
        } catch  where !exitCode(for: error).isSuccess {
            if !named.isGroup, let option = try UnknownOption(in: words, of: named, program) {
                throw option
            }
            throw error
        }
    }

    /// Ends the program without the farewells of libraries, which have nothing left to do, and for
    /// which OpenSSL alone would bring 3 MB of its code and data into memory.
    private static func leave(_ status: Int32) -> Never {
        var status = status
        do {
            try Console.flush()
        } catch {
            Console.complain("\(error)")
            let interruptions = [ExitStatus.interrupted.rawValue, ExitStatus.terminated.rawValue]
            if !interruptions.contains(status) { status = ExitStatus(error).rawValue }
        }
        _exit(status)
    }

    static let configuration = CommandConfiguration(
        commandName: "larder",
        abstract:
            "Fills an offline icon cache ahead of time, verifies it, and keeps it within bounds.",
        discussion: """
            The cache directory is --cache DIR, else $LARDER_CACHE, else the user's cache \
            directory. Results go to standard output, progress and messages to standard error.

            Write sizes as 500kB, 1.5G, 500MB (10^6) or 500MiB (2^20), durations as 90s, 1.5h, 30d \
            or 1h30m. A bare number is bytes or seconds.
            """,
        version: ProgramVersion.text,
        subcommands: [
            PrefetchCommand.self, PlanCommand.self, VerifyCommand.self, StatusCommand.self,
            ListCommand.self, PathCommand.self, CatCommand.self, EvictCommand.self,
            PinCommand.self, UnpinCommand.self, SnapshotCommand.self, ReindexCommand.self,
            ExportCommand.self, ImportCommand.self, ServeCommand.self,
            RemoteCommand.self,
        ])

    static let guide = CommandGuide(
        examples: [
            .init("Fill a cache.", "larder prefetch apps.plist --cache icons"),
            .init("Prove that it is whole.", "larder verify --cache icons"),
            .init("Keep it below 2 GB.", "larder evict --max-size 2GB --cache icons"),
        ])
}
