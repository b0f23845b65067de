import ArgumentParser
import LarderKit

@main
struct Larder: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "larder",
        abstract: "Fills an offline icon cache ahead of time, and proves it intact.",
        discussion: """
            The cache directory is --cache DIR, else $LARDER_CACHE, else the user's cache
            directory. Results go to standard output, progress and messages to standard error.

            Exit status: 0 everything asked for is done; 1 it could not run; 2 some entries failed,
            or corruption was found; 64 wrong usage; 65 a manifest is not readable as one; 66 an
            input file is missing; 74 the disk is full or failing; 75 another process holds the
            lock; 130, 143 interrupted.
            """,
        version: LarderVersion.current,
        subcommands: [
            PrefetchCommand.self, PlanCommand.self, VerifyCommand.self, StatusCommand.self,
            ListCommand.self, PathCommand.self, CatCommand.self,
        ])
}
