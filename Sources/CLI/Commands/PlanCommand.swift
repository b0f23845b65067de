import ArgumentParser
import LarderKit

struct PlanCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "plan",
        abstract: "Show what a prefetch would do, without touching the network.",
        discussion: """
            One line for each entry in the order of the fetch: status (missing, stale, cached, \
            skipped or failed), priority, URL and name.
            """)

    @OptionGroup var cache: CacheOptions
    @OptionGroup var manifest: ManifestOptions

    @Flag(help: "Print one JSON line for each entry, and the counts as the last.")
    var json = false

    @Flag(name: .shortAndLong, help: "Print only the counts.")
    var quiet = false

    func run() async throws {
        try await ExitStatus.of {
            let planner = Planner(
                cache: try cache.open(), baseURL: try manifest.base,
                acceptsAnyContent: manifest.anyContent)
            let summary = try planner.plan(manifest.sources) { entry in
                if !quiet { print(json ? entry.json : entry.text) }
            }
            print(json ? summary.json : summary.text)
            if summary.failed > 0 { try ExitStatus.someFailed.exit() }
        }
    }
}
