import ArgumentParser
import LarderCache
import LarderExport

struct ImportCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "import",
        abstract: "Adopt the icons of manifests from another program's cache, without the network.",
        discussion: """
            The icons are looked up by the names that the library gives their files: in a \
            simulator's Library/Caches, in a Mac's, or in an earlier export. A file is adopted if \
            it is a complete image, with the digest and size that its entry has. Icons that are \
            in the cache already are not changed. Adopted icons count as stale, so the next \
            prefetch downloads them again.

            The exit status is 2 if a file cannot be used. Files that are missing do not count as \
            failures: larder prefetch downloads the rest.

            EXAMPLES:
              # Take over what an app in a simulator has loaded.
              larder import Library/Caches --layout kingfisher --manifest apps.json
            """)

    @OptionGroup var cache: CacheOptions
    @OptionGroup var colors: ColorOptions
    @OptionGroup var output: ReportOptions
    @OptionGroup var log: LogOptions
    @OptionGroup var naming: LayoutOptions
    @OptionGroup var selection: ManifestSelection
    @OptionGroup(title: "Reading manifests") var reading: ReadingOptions
    @OptionGroup(title: "Concurrent runs", visibility: .rare) var locks: LockOptions

    @Argument(
        help: ArgumentHelp("The directory that has the library's cache in it.", valueName: "dir"),
        completion: .directory)
    var directory: String

    private static let layouts = ExportLayout.allCases.filter(\.isImportable).map(\.rawValue)

    @Option(
        help: ArgumentHelp(
            "The layout to read. (required; values: \(Self.layouts.joined(separator: ", ")))"),
        completion: .list(Self.layouts),
        transform: { name in
            guard let layout = ExportLayout(rawValue: name) else {
                throw ValidationError("the layouts are \(Self.layouts.joined(separator: ", "))")
            }
            guard layout.isImportable else {
                throw ValidationError("it does not say which URL a file is from")
            }
            return layout
        })
    var layout: ExportLayout

    @Option(
        help: ArgumentHelp(
            "Refuse files larger than this: 500kB, 2MiB. (default: 16MiB)", valueName: "size"),
        transform: ByteCount.parseAboveZero)
    var maxObjectSize = ByteCount(16 << 20)

    @Flag(help: "Accept files that are not images.") var anyContent = false

    func validate() throws {
        if directory.isEmpty { throw ValidationError("The import needs a directory's name.") }
        try naming.validate(layout, directory: directory)
        try selection.requireSome()
    }

    func run() async throws {
        try await CacheRun.of(
            self, on: cache, locks, isQuiet: output.quiet, hasOneCache: false, makesCache: true
        ) { run in
            try ProcessLimits.requireTransfers()
            var configuration = ImportConfiguration(
                layout: naming.layout(layout), directory: directory)
            configuration.folder = naming.folder
            configuration.maximumBytes = maxObjectSize.bytes
            configuration.acceptsAnyContent = anyContent
            configuration.manifestRules = try reading.rules()
            // Before a cache is created.
            try MissingInput.checkDirectory(directory)
            for name in selection.manifest where name != "-" && !LocalManifests.isURL(name) {
                try MissingInput.check(name, for: "--manifest")
            }
            try Self.asMissingInput { try configuration.check(besideCacheAt: self.cache.path) }
            run.interrupts.ask("ending what is begun")
            let cache = try Cache.create(at: cache.path, wait: run.wait, log: Log.cache)
            let sources = try selection.manifest.map {
                try LocalManifests.source($0, rules: configuration.manifestRules, cache: cache)
            }
            let importer = Importer(
                cache, configuration, isCancelled: { run.interrupts.isAsked },
                onProgress: { run.line.show($0.text("looked up")) })
            var report = try Self.asMissingInput { try importer.run(sources) }
            // As it was asked for: `kingfisher` with --kingfisher-version 7, too.
            report.layout = layout
            run.line.clear()
            output.write(
                json: report.json, text: report.text(colors.output), complaint: report.complaint)
            if report.isInterrupted { try run.interrupts.status.exit() }
            if report.failed > 0 { try ExitStatus.someFailed.exit() }
        }
    }

    /// The directory that is imported from is an input: its absence is no absence of a cache.
    private static func asMissingInput<Value>(_ body: () throws -> Value) throws -> Value {
        do {
            return try body()
        } catch let error as CacheError where error.code == .missing {
            throw MissingInput(description: error.description)
        }
    }
}
