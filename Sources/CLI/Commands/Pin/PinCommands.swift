import ArgumentParser
import Foundation
import LarderCache
import LarderCore
import LarderManifest

struct PinCommand: RunCommand {
    static let configuration = CommandConfiguration(
        commandName: "pin", _superCommandName: "larder",
        abstract: "Protect icons from eviction, or list pinned icons.",
        discussion: """
            You can pin an icon before it is cached. Without arguments, prints the pinned URLs and \
            keys, one per line.

            EXAMPLES:
              # Protect one icon.
              larder pin https://example.com/notes.png
              # Protect all icons in a manifest.
              larder pin apps.json
              # List pinned icons.
              larder pin
            """)

    @OptionGroup var cache: CacheOptions
    @OptionGroup var subjects: PinSubjects
    @OptionGroup(title: "Reading manifests") var reading: ReadingOptions
    @OptionGroup(title: "Concurrent runs") var locks: LockOptions
    var isQuiet: Bool { false }

    func run() async throws {
        if subjects.subjects.isEmpty { return try cache.open().forEachPin { print($0.shownAsURL) } }
        try await CacheRun.of(self, makesCache: true) { run in
            let cache = try Cache.create(at: cache.path, wait: run.wait, log: Log.cache)
            defer { cache.close() }
            let rules = try reading.rules()
            let count = try cache.pin { try subjects.forEachKey(in: cache, rules: rules, $0) }
            let part = count.absent == count.pinned ? "" : "\(count.absent) of them "
            print("pinned \(count.pinned)" + (count.absent == 0 ? "" : " (\(part)not cached)"))
        }
    }
}

struct UnpinCommand: RunCommand {
    static let configuration = CommandConfiguration(
        commandName: "unpin", _superCommandName: "larder",
        abstract: "Stop protecting icons from eviction.",
        discussion: """
            EXAMPLES:
              # Unpin one icon.
              larder unpin https://example.com/notes.png
              # Unpin all icons.
              larder unpin --all
            """)

    @OptionGroup var cache: CacheOptions
    @OptionGroup var subjects: PinSubjects
    @OptionGroup(title: "Reading manifests") var reading: ReadingOptions
    @OptionGroup(title: "Concurrent runs") var locks: LockOptions
    var isQuiet: Bool { false }

    @Flag(help: "Unpin all icons.") var all = false

    func validate() throws {
        try refuse(
            if: all != subjects.subjects.isEmpty,
            all ? "--all cannot be combined with names." : "A name or --all is required.")
    }

    func run() async throws {
        try await CacheRun.of(self) { run in
            let cache = try cache.open(wait: run.wait)
            let rules = try reading.rules()
            let count =
                try all
                ? cache.unpin(cache.forEachPin)
                : cache.unpin { try subjects.forEachKey(in: cache, rules: rules, $0) }
            print("unpinned \(count)")
        }
    }
}

struct PinSubjects: ParsableArguments {
    @Argument(
        help: .common(
            "The URL of an icon, key:NAME for its key in the manifest, or a manifest file (- for "
                + "standard input) for all of its icons.", "url|key|manifest"),
        completion: .cachedNames)
    var subjects: [String] = []

    func validate() throws { try LocalManifests.validateStandardInput(subjects) }

    /// A subject that is neither a URL, a file nor a cached key counts as a missing manifest.
    func forEachKey(in cache: Cache, rules: ManifestRules, _ body: (String) throws -> Void) throws {
        for subject in subjects {
            let key = String.spelled(subject)
            let isURL = LocalManifests.isURL(subject)
            try refuse(
                if: isURL && (try? HTTPURL(subject)) == nil, "The URL of an icon is not valid")
            let isFile = subject == "-" || access(subject, F_OK) == 0
            if isURL || ResourceKey.isSpelledOut(subject) {
                try body(key)
            } else if !isFile, try cache.resource(key) != nil || cache.isPinned(key) {
                try body(key)
            } else {
                try LocalManifests([subject], rules: rules, cache: nil).forEachKey(body)
            }
        }
    }
}
