import ArgumentParser
import Foundation
import LarderCache
import LarderKit

@main
struct Larder: AsyncParsableCommand {
    static func main() async {
        StandardStreams.ensureOpen()
        OpenFiles.requireSome()
        Allocator.keepSmall()
        SharedMemory.guardAgainstFailingDisk()
        do {
            var command = try parsedCommand()
            if var command = command as? any AsyncParsableCommand {
                try await command.run()
            } else {
                try command.run()
            }
            leave(0)
        } catch let code as ExitCode {
            leave(code.rawValue)
        } catch {
            exit(withError: error)
        }
    }

    /// The subcommand, parsed on its own if its name comes first: on the way through the root, the
    /// parser would reflect on all of its options twice more, which in a debug build, where it
    /// validates them each time, was a quarter of a short run.
    ///
    /// Where that fails, the root parses once more: it has the version, and says whose usage it is.
    private static func parsedCommand() throws -> any ParsableCommand {
        let arguments = CommandLine.arguments.dropFirst()
        if let name = arguments.first,
            let subcommand = configuration.subcommands.first(where: {
                $0.configuration.commandName == name
            }),
            let command = try? subcommand.parseAsRoot(Array(arguments.dropFirst())),
            type(of: command) == subcommand
        {
            return command
        }
        try CommandName.check(
            arguments, among: configuration.subcommands.compactMap { $0.configuration.commandName })
        return try parseAsRoot()
    }

    /// Ends the program without the farewells of libraries, which have nothing left to do, and for
    /// which OpenSSL alone would bring 3 MB of its code and data into memory.
    private static func leave(_ status: Int32) -> Never {
        fflush(nil)
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

            Exit status: 0 done; 1 could not run; 2 some entries failed, corruption was found, or \
            a limit could not be reached; 64 wrong usage; 65 not a manifest; 66 an input is \
            missing; 74 the disk is full or failing; 75 another process holds the lock; 130, 143 \
            interrupted.
            """,
        version: LarderVersion.current,
        subcommands: [
            PrefetchCommand.self, PlanCommand.self, VerifyCommand.self, StatusCommand.self,
            ListCommand.self, PathCommand.self, CatCommand.self, EvictCommand.self,
            PinCommand.self, UnpinCommand.self, SnapshotCommand.self, ReindexCommand.self,
            RehearseCommand.self,
        ])
}
