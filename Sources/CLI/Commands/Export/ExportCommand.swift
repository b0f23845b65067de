import ArgumentParser
import LarderCache
import LarderCore
import LarderExport
import LarderImages
import LarderManifest

struct ExportCommand: ReportingCommand {
    static let configuration = CommandConfiguration(
        commandName: "export", _superCommandName: "larder",
        abstract: "Write icons in the layout of another program.",
        discussion: """
            With the layout of an image library (\(ExportLayout.names(where: \.hasFolder))), \
            an app that uses the library starts with a filled cache. Each file is named after the \
            URL exactly as the manifest spells it. --layout files writes files with readable names \
            and an index.json. asset-catalog writes an asset catalog for Xcode, in a directory \
            whose name ends with .xcassets. gallery writes a web page with all icons.

            Each object is compared with its digest while it is written. A second run writes only \
            changes. The exit status is 2 if an icon is not cached, or is damaged and was not \
            exported before. A file from an earlier export is kept.

            --resize makes icons smaller with the program vipsthumbnail (Debian: libvips-tools), \
            which runs without network access and within limits. Without this program, the exit \
            status is 69.

            EXAMPLES:
              # Fill the cache of an app that uses Nuke.
              larder export Seed --layout nuke --manifest apps.json
              # Write all cached icons as files, and remove files of icons that are gone.
              larder export public/icons --layout files --prune
              # Write a web page with all icons of a manifest.
              larder export gallery --layout gallery --manifest apps.json
              # Write icons for a list that shows them at 60 points.
              larder export Icons.xcassets --layout asset-catalog --resize 60 --scales 2,3
            """)

    @OptionGroup var options: RunOptions
    @OptionGroup var naming: LayoutOptions
    @OptionGroup var size: ResizeOptions
    @OptionGroup var selection: ManifestSelection
    @OptionGroup(title: "Reading manifests") var reading: ReadingOptions
    @OptionGroup(title: "Concurrent runs", visibility: .rare) var locks: LockOptions

    @Argument(
        help: .common("The output directory. An image library's cache is created in it.", "dir"),
        completion: .directory)
    var directory: String

    @Option(help: "The layout to write. (required)") var layout: ExportLayout

    @Flag(help: "Remove files of earlier exports whose icons are no longer exported.")
    var prune = false

    @Flag(help: "Copy files instead of cloning or hard-linking them.") var copy = false

    @Option(
        help: .common(
            "Also write a Swift source file that copies the exported directory to Library/Caches "
                + "when the app is launched. For \(ExportLayout.names(where: \.hasInstaller)).",
            "file"), completion: .file(extensions: ["swift"]))
    var installer: String?

    func validate() throws {
        if directory.isEmpty { throw ValidationError("The name of the directory is empty.") }
        try naming.validate(layout, directory: directory)
        _ = try size.value(for: layout)
        try refuse(if: installer == "" || installer == "-", "--installer needs the name of a file.")
        try refuse(
            if: installer != nil && !layout.hasInstaller,
            "--installer needs --layout with one of \(ExportLayout.names(where: \.hasInstaller)).")
        try reading.validate(for: selection.manifest)
    }

    func run() async throws {
        try await CacheRun.of(self, hasOneCache: false) { run in
            run.interrupts.ask()
            if directory.isDirectory == false {
                throw CacheError(
                    .unusable, subject: directory,
                    message: "not a directory; name the output directory here,"
                        + " and a manifest after --manifest")
            }
            if let installer {
                try OutputFile.confirm(
                    installer, isNoneOf: selection.manifest, orIn: self.cache.path,
                    for: "--installer")
                try OutputReplacement(installer).check()
            }
            let cache = try cache.open(wait: run.wait)
            var configuration = ExportConfiguration(
                layout: naming.layout(layout), directory: directory)
            configuration.folder = naming.folder
            configuration.isPruning = prune
            configuration.copiesAll = copy
            configuration.resize = try size.value(for: layout)
            configuration.manifestRules = try reading.rules()
            let sources = try selection.manifest.map { try LocalManifests.source($0, cache: cache) }
            var report = try Exporter(
                cache, configuration, isCancelled: { run.interrupts.isAsked },
                onProgress: { run.line.show($0.text("exported")) }
            ).export(selection.manifest.isEmpty ? nil : sources)
            if let installer, !report.isInterrupted,
                let source = try SeedInstaller(
                    report, directory: directory, folder: naming.folder,
                    isCancelled: { run.interrupts.isAsked })?.source
            {
                try OutputFile.write(source, to: installer)
            }
            // The report has the name that the user gave, even with --kingfisher-version 7.
            report.layout = layout
            output.write(
                json: report.json, text: report.text(colors.output), complaint: report.complaint)
            if report.isInterrupted { try run.interrupts.status.exit() }
            if report.icons == report.skipped {
                let sources = selection.manifest.isEmpty ? [self.cache.path] : selection.manifest
                Console.complain("\(sources.joined(separator: ", ")): no icons to export")
            }
            if report.failed > 0 { try ExitStatus.someFailed.exit() }
        }
    }
}

struct LayoutOptions: ParsableArguments {
    @Option(
        help: .common(
            "The major version of Kingfisher. Versions up to 7 use the layout kingfisher7.", "n"))
    var kingfisherVersion = 8

    @Option(
        help: .common(
            "The name of the image library's directory, if the app sets the name: Nuke's "
                + "DataCache(name:), SDWebImage's namespace, Coil's directory, or Kingfisher's "
                + "directory with its prefix.", "name"))
    var folder: String?

    func layout(_ layout: ExportLayout) -> ExportLayout {
        kingfisherVersion < 8 ? .kingfisher7 : layout
    }

    func validate(_ layout: ExportLayout, directory: String) throws {
        try refuse("--kingfisher-version", kingfisherVersion, outside: 1...8)
        try refuse(
            if: kingfisherVersion != 8 && layout != .kingfisher,
            "--kingfisher-version needs --layout kingfisher.")
        if let folder {
            try refuse(if: !layout.hasFolder, "--folder needs the --layout of an image library.")
            try refuse(
                if: !ExportLayout.isFolder(folder),
                "--folder must be the name of one directory, without '/'.")
        }
        let end = directory.utf8.reversed().drop { $0 == UInt8(ascii: "/") }
        try refuse(
            if: layout == .assetCatalog && !end.starts(with: ".xcassets".utf8.reversed()),
            "The name of an asset catalog must end with .xcassets.")
    }
}

extension ExportLayout: ExpressibleByArgument {}

struct ResizeOptions: ParsableArguments {
    private static let kept = ImageFormat.all.filter { $0.isVector || !$0.isResizable }
        .map(\.mediaType.name)

    @Option(
        help: .common(
            "Reduce the longest side of larger icons to this length, at scale 1. Needs the program "
                + "vipsthumbnail. \(Self.kept.joined(separator: ", ")) and animations are "
                + "not changed.", "pixels"))
    var resize: Int?

    @Option(
        help: .common(
            "The scales to write with --resize. The layout of an image library has only the "
                + "largest. (default: 1,2,3)", "list"), transform: Self.scales)
    var scales: Set<Int>?

    private static func scales(_ argument: String) throws -> Set<Int> {
        let parts = argument.split(separator: ",", omittingEmptySubsequences: false)
        let scales = Set(parts.filter(\.isDigits).compactMap { Int($0) })
        let allowed = Resize.allowedScales
        guard scales.count == parts.count, scales.allSatisfy(allowed.contains) else {
            throw ValidationError(
                "expected different numbers from \(allowed.lowerBound) to \(allowed.upperBound), "
                    + "such as 1,2,3")
        }
        return scales
    }

    func value(for layout: ExportLayout) throws -> Resize? {
        try refuse(if: resize == nil && scales != nil, "--scales needs --resize.")
        guard let resize else { return nil }
        try refuse("--resize", resize, outside: Resize.allowedPoints)
        try refuse(if: layout == .gallery, "--resize needs a --layout other than gallery.")
        let scales = scales ?? [1, 2, 3]
        try refuse(
            if: layout == .assetCatalog && scales.contains(4),
            "An asset catalog has no scale above 3.")
        return Resize(points: resize, scales: scales)
    }
}

extension ExportReport {
    package func text(_ paint: Paint = .none) -> String {
        var lines = problems.lines(paint)
        var parts = counted([
            (linked, "linked"), (cloned, "cloned"), (copied, "copied"), (resized, "resized"),
            (unchanged, "unchanged"), (duplicates, duplicates == 1 ? "duplicate" : "duplicates"),
            (pruned, "pruned"), (unfinished, "unfinished"),
        ])
        parts += problems.parts
        let counts = parts.isEmpty ? "" : ": " + parts.joined(separator: ", ")
        lines.append(
            "\(icons.of("icon")) for \(directory.sanitizedForTerminal)\(counts)"
                + (bytes > 0 ? "; wrote \(ByteText.describe(bytes))" : "")
                + " (\(DurationText.describe(seconds)))")
        if isInterrupted { lines.append(.interrupted) }
        return lines.joined(separator: "\n")
    }

    package var complaint: String? { isInterrupted ? .interrupted : problems.complaint }

    package var json: JSONObject {
        var object: JSONObject = ["layout": layout.rawValue]
        object.set("directory", exactly: directory)
        object.set([
            "icons": icons, "linked": linked, "cloned": cloned, "copied": copied,
            "unchanged": unchanged, "duplicates": duplicates, "skipped": skipped, "failed": failed,
            "unfinished": unfinished, "bytes": bytes, "pruned": pruned, "resized": resized,
        ])
        object.set(problems, isInterrupted, seconds)
        return object
    }
}

extension ItemFailures {
    func lines(_ paint: Paint) -> [String] {
        let lines = failures.map { paint.failed($0.text) }
        let others = failed + placeholders - failures.count - repeats
        return others > 0 ? lines + ["and \(others) more failed"] : lines
    }

    var parts: [String] {
        (skipped > 0 ? ["\(skipped) skipped (\(reasons { $0.isSkip }))"] : []) + failedParts
    }

    var failedParts: [String] {
        (placeholders > 0 ? [placeholders.of("placeholder")] : [])
            + (failed > 0 ? ["\(failed) failed (\(reasons { !$0.isSkip }))"] : [])
    }

    var complaint: String? {
        failures.first.map { "icons: \(failedParts.joined(separator: ", ")), such as \($0.text)" }
    }

    private func reasons(_ isNamed: (Code) -> Bool) -> String {
        Code.allCases.filter(isNamed).compactMap { code in
            counts[code].map { "\($0) \(code.rawValue)" }
        }.joined(separator: ", ")
    }
}

extension ItemFailure {
    fileprivate var text: String {
        let subject = url?.shownAsURL ?? name.sanitizedForTerminal
        return (subject.isEmpty ? "" : "\(subject): ") + message.sanitizedForTerminal
    }

    fileprivate var json: JSONObject {
        [
            "code": code.rawValue, "name": name.sanitizedForTerminal, "url": url?.shownAsURL,
            "message": message.sanitizedForTerminal,
        ]
    }
}

extension JSONObject {
    mutating func set<Code>(
        _ problems: ItemFailures<Code>, _ isInterrupted: Bool, _ seconds: Double
    ) {
        var reasons = JSONObject()
        for code in Code.allCases {
            if let count = problems.counts[code] { reasons.set(code.rawValue, count) }
        }
        set([
            "reasons": reasons, "failures": problems.failures.map(\.json),
            "interrupted": isInterrupted, "seconds": seconds,
        ])
    }
}
