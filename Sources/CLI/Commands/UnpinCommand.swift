import ArgumentParser
import LarderCache
import LarderKit

struct UnpinCommand: AsyncParsableCommand, GuidedCommand {
    static let configuration = CommandConfiguration(
        commandName: "unpin",
        abstract: "Let evictions remove icons again.")

    static let guide = CommandGuide(
        usual: [
            "--cache", "--all", "--base-url", "--entries", "--icon-key", "--exclusive",
            "--wait", "--no-wait",
        ],
        examples: [
            .init(
                "Let evictions remove an icon again.",
                "larder unpin https://example.com/notes.png")
        ])

    @OptionGroup var cache: CacheOptions
    @OptionGroup var subjects: PinSubjects
    @OptionGroup(title: "Reading manifests") var reading: ReadingOptions
    @OptionGroup(title: "Concurrent runs") var locks: LockOptions

    @Flag(help: "Unpin everything.")
    var all = false

    func validate() throws {
        if all, !subjects.subjects.isEmpty {
            throw ValidationError("--all and names exclude each other.")
        }
        if !all, subjects.subjects.isEmpty {
            throw ValidationError("Name what to unpin, or give --all.")
        }
    }

    func run() async throws {
        try await CacheRun.of(self, on: cache, locks) { run in
            guard let cache = try cache.open(wait: run.wait) else { return print("unpinned 0") }
            let rules = try reading.rules
            let count =
                try all
                ? cache.unpin(cache.forEachPin)
                : cache.unpin { try subjects.forEachKey(in: cache, rules: rules, $0) }
            print("unpinned \(count)")
        }
    }
}
