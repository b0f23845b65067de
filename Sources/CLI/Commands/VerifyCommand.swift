import ArgumentParser
import LarderCache
import LarderKit

struct VerifyCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "verify",
        abstract: "Re-read every object and check every row; change nothing.",
        discussion: """
            Exit status 0 when everything the index vouches for is whole, 2 when not. Orphans, \
            leftovers in tmp/ and foreign files are reported and are not corruption.
            """)

    @OptionGroup var cache: CacheOptions

    @Flag(help: "Print the report as one JSON object.")
    var json = false

    @Flag(name: .shortAndLong, help: "Print nothing when the cache is clean.")
    var quiet = false

    func run() async throws {
        try await ExitStatus.of {
            guard let cache = try cache.open() else {
                let report = VerifyReport()
                if json { print(report.json) } else if !quiet { print(report.text) }
                return
            }
            let line = ProgressLine(isQuiet: quiet)
            let report = try cache.verify { done, total in
                line.show("\(done)/\(total) objects")
            }
            line.clear()
            if json { print(report.json) } else if !quiet || !report.isClean { print(report.text) }
            if !report.isClean { try ExitStatus.someFailed.exit() }
        }
    }
}
