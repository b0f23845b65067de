import ArgumentParser
import LarderCache
import LarderKit

struct PinCommand: AsyncParsableCommand, GuidedCommand {
    static let configuration = CommandConfiguration(
        commandName: "pin",
        abstract: "Protect icons from eviction, or list those that are pinned.",
        discussion: """
            You can pin an icon before it is cached. Without arguments, prints what is pinned, \
            one URL or key per line.
            """)

    static let guide = CommandGuide(
        usual: [
            "--cache", "--base-url", "--entries", "--icon-key", "--exclusive", "--wait",
            "--no-wait",
        ],
        examples: [
            .init("Protect one icon.", "larder pin https://example.com/notes.png"),
            .init("Protect all icons of a manifest.", "larder pin apps.json"),
            .init("List what is pinned.", "larder pin"),
        ])

    @OptionGroup var cache: CacheOptions
    @OptionGroup var subjects: PinSubjects
    @OptionGroup(title: "Reading manifests") var reading: ReadingOptions
    @OptionGroup(title: "Concurrent runs") var locks: LockOptions

    func run() async throws {
        guard !subjects.subjects.isEmpty else {
            return try await ExitStatus.of(cache) {
                try cache.open()?.forEachPin { print($0.shownAsURL) }
            }
        }
        try await CacheRun.of(self, on: cache, locks, makesCache: true) { run in
            let cache = try Cache.create(at: cache.path, wait: run.wait)
            defer { cache.close() }
            let rules = try reading.rules
            let count = try cache.pin { try subjects.forEachKey(in: cache, rules: rules, $0) }
            print("pinned \(count.pinned)" + Self.note(absent: count.absent, of: count.pinned))
        }
    }

    /// A URL may be mistyped, or its icon have a key of its own.
    private static func note(absent: Int, of pinned: Int) -> String {
        absent == 0 ? "" : absent == pinned ? " (not cached)" : " (\(absent) of them not cached)"
    }
}
