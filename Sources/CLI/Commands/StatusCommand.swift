import ArgumentParser
import LarderCache
import LarderKit

struct StatusCommand: AsyncParsableCommand {
    /// How the status is written.
    enum Format: String, ExpressibleByArgument, CaseIterable {
        case text, json
    }

    static let configuration = CommandConfiguration(
        commandName: "status", abstract: "Show what the cache holds.")

    @OptionGroup var cache: CacheOptions

    @Option(help: "How to write it.")
    var format = Format.text

    @Flag(help: "The same as --format json.")
    var json = false

    func run() async throws {
        try await ExitStatus.of {
            let status = try cache.open()?.status() ?? CacheStatus(emptyAt: cache.path)
            print(json || format == .json ? status.json : status.text)
        }
    }
}
