import ArgumentParser
import LarderCache
import LarderExport
import LarderManifest

struct ExportCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "export", abstract: "Write icons in the layout of another program.",
        discussion: """
            A library's layout (\(ExportLayout.names(where: \.hasFolder))) is the disk cache of \
            that library, so that an app starts with a filled cache. Each file is named after the \
            URL exactly as the manifest spells it. The layout files has files with readable names \
            and an index.json. asset-catalog is an asset catalog for Xcode, in a directory whose \
            name ends with .xcassets. gallery is a web page with all icons.

            Each object is compared with its digest while it is written. A second run writes only \
            changes. The exit status is 2 if an icon is not cached, or is damaged and was not \
            exported before. A file from an earlier export is kept.

            --resize makes icons smaller with the program vipsthumbnail (Debian: libvips-tools), \
            which runs without a network and within limits. The exit status is 69 without it.

            EXAMPLES:
              # Fill the cache of an app that uses Nuke.
              larder export Seed --layout nuke --manifest apps.json
              # Write all cached icons as files, and remove files of icons that are gone.
              larder export public/icons --layout files --prune
              # Write a web page with all icons of a manifest.
              larder export gallery --layout gallery --manifest apps.json
              # Write icons for a list that shows them in 60 points.
              larder export Icons.xcassets --layout asset-catalog --resize 60 --scales 2,3
            """)

    @OptionGroup var cache: CacheOptions
    @OptionGroup var colors: ColorOptions
    @OptionGroup var output: ReportOptions
    @OptionGroup var log: LogOptions
    @OptionGroup var naming: LayoutOptions
    @OptionGroup var size: ResizeOptions
    @OptionGroup var selection: ManifestSelection
    @OptionGroup(title: "Reading manifests") var reading: ReadingOptions
    @OptionGroup(title: "Concurrent runs", visibility: .rare) var locks: LockOptions

    @Argument(
        help: .common("The output directory. A library's cache is a directory in it.", "dir"),
        completion: .directory)
    var directory: String

    @Option(help: "The layout to write. (required)") var layout: ExportLayout

    @Flag(help: "Remove files of earlier exports whose icons are no longer exported.")
    var prune = false

    @Flag(help: "Copy files instead of cloning or hard-linking them.") var copy = false

    @Option(
        help: .common(
            """
            Also write a Swift source file that copies the exported directory to Library/Caches \
            when the app is launched. For \(ExportLayout.names(where: \.hasInstaller)).
            """, "file"), completion: .file(extensions: ["swift"]))
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
        try await CacheRun.of(self, on: cache, locks, isQuiet: output.quiet, hasOneCache: false) {
            run in
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
            let sources = try selection.manifest.map {
                try LocalManifests.source($0, rules: configuration.manifestRules, cache: cache)
            }
            var report = try Exporter(
                cache, configuration, isCancelled: { run.interrupts.isAsked },
                onProgress: { run.line.show($0.text("exported")) }
            ).export(selection.manifest.isEmpty ? nil : sources)
            run.line.clear()
            if let installer, !report.isInterrupted,
                let source = try SeedInstaller(
                    report, directory: directory, folder: naming.folder,
                    isCancelled: { run.interrupts.isAsked })?.source
            {
                try OutputFile.write(source, to: installer)
            }
            // The report names the layout as given, even with --kingfisher-version 7.
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
