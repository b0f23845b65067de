import ArgumentParser
import LarderCache
import LarderCore
import LarderExport

struct ImportCommand: ReportingCommand {
    static let configuration = CommandConfiguration(
        commandName: "import", _superCommandName: "larder",
        abstract: "Adopt icons of a manifest from another program's cache, without the network.",
        discussion: """
            Icons are found by the file names that an image library uses, in Library/Caches of a \
            simulator or a Mac, or in an earlier export. A file is adopted if it is a complete \
            image and matches the digest and size in its entry. Icons that are already in the \
            cache are not changed. Adopted icons are stale, so the next prefetch downloads them \
            again.

            The exit status is 2 if a file cannot be used. A missing file is not a failure: larder \
            prefetch downloads the icon.

            EXAMPLES:
              # Adopt the icons that an app in a simulator has loaded.
              larder import Library/Caches --layout kingfisher --manifest apps.json
            """)

    @OptionGroup var options: RunOptions
    @OptionGroup var naming: LayoutOptions
    @OptionGroup var selection: ManifestSelection
    @OptionGroup(title: "Reading manifests") var reading: ReadingOptions
    @OptionGroup(title: "Concurrent runs", visibility: .rare) var locks: LockOptions

    @Argument(
        help: .common("The directory that contains the image library's cache.", "dir"),
        completion: .directory)
    var directory: String
    private static let layouts = ExportLayout.allCases.filter(\.isImportable).map(\.rawValue)

    @Option(
        help: ArgumentHelp(
            "The layout to read. (required; values: \(Self.layouts.joined(separator: ", ")))"),
        completion: .list(Self.layouts),
        transform: { name in
            guard let layout = ExportLayout(rawValue: name) else {
                throw ValidationError("expected one of \(Self.layouts.joined(separator: ", "))")
            }
            try refuse(if: !layout.isImportable, "this layout does not contain the URLs of icons")
            return layout
        })
    var layout: ExportLayout

    @Option(
        help: .common(
            "The maximum size of an icon, for example 500kB or 2MiB. (default: 16MiB)", "size"),
        transform: ByteCount.parseAboveZero)
    var maxObjectSize: Int64 = 16 << 20

    @Flag(help: "Accept files that are not images.") var anyContent = false

    func validate() throws {
        if directory.isEmpty { throw ValidationError("The name of the directory is empty.") }
        try naming.validate(layout, directory: directory)
        try selection.requireSome()
    }

    func run() async throws {
        // Taking the --exclusive lock creates a cache, so the inputs are checked first.
        try MissingInputError.checkDirectory(directory)
        for name in selection.manifest where name != "-" && !LocalManifests.isURL(name) {
            try MissingInputError.check(name, for: "--manifest")
        }
        var configuration = ImportConfiguration(layout: naming.layout(layout), directory: directory)
        configuration.folder = naming.folder
        configuration.maximumBytes = maxObjectSize
        configuration.acceptsAnyContent = anyContent
        configuration.manifestRules = try reading.rules()
        try Self.asMissingInput { try configuration.check(besideCacheAt: cache.path) }
        let needsCache = selection.manifest.contains(where: LocalManifests.isURL)
        try await CacheRun.of(self, hasOneCache: false, makesCache: !needsCache) { run in
            try HelperThread.require()
            if needsCache { _ = try self.cache.openDamaged(wait: run.wait, isForRepair: false) }
            run.interrupts.ask()
            let cache = try self.cache.existing {
                try Cache.create(at: self.cache.path, wait: run.wait, log: Log.cache)
            }
            let sources = try selection.manifest.map { try LocalManifests.source($0, cache: cache) }
            let importer = Importer(
                cache, configuration, isCancelled: { run.interrupts.isAsked },
                onProgress: { run.line.show($0.text("looked up")) })
            var report = try Self.asMissingInput { try importer.run(sources) }
            report.layout = layout
            output.write(
                json: report.json, text: report.text(colors.output), complaint: report.complaint)
            if report.isInterrupted { try run.interrupts.status.exit() }
            if report.failed > 0 { try ExitStatus.someFailed.exit() }
        }
    }

    private static func asMissingInput<Value>(_ body: () throws -> Value) throws -> Value {
        do {
            return try body()
        } catch let error as CacheError where error.code == .missing {
            throw MissingInputError(description: error.description)
        }
    }
}

extension ImportReport {
    package func text(_ paint: Paint = .none) -> String {
        var lines = problems.lines(paint)
        let parts = nonzero(
            [
                (imported, "\(imported) imported"), (present, "\(present) present"),
                (missing, "\(missing) missing"),
            ] + problems.parts.map { (1, $0) })
        lines.append(
            "\(icons.of("icon")): \(parts.joined(separator: ", "))"
                + (bytes > 0 ? "; read \(ByteText.describe(bytes))" : "")
                + " (\(DurationText.describe(seconds)))")
        if imported == 0, present == 0, missing > 0, failed == 0 {
            lines.append(
                "\(directory.sanitizedForTerminal): no file found for any icon; check --layout and "
                    + "--kingfisher-version")
        }
        if isInterrupted { lines.append(.interrupted) }
        return lines.joined(separator: "\n")
    }

    package var complaint: String? { isInterrupted ? .interrupted : problems.complaint }

    package var json: JSONObject {
        var object: JSONObject = ["layout": layout.rawValue]
        object.set("directory", exactly: directory)
        object.set([
            "icons": icons, "imported": imported, "present": present, "missing": missing,
            "skipped": skipped, "failed": failed, "bytes": bytes,
        ])
        object.set(problems, isInterrupted, seconds)
        return object
    }
}
