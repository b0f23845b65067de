import ArgumentParser
import LarderExport
import LarderManifest

struct ExportCommand: AsyncParsableCommand, GuidedCommand {
    static let configuration = CommandConfiguration(
        commandName: "export",
        abstract: "Write icons in the layout that another program reads.",
        discussion: """
            The layouts of libraries (\(ExportLayout.names(where: \.hasFolder))) write the disk \
            cache of that library, so that an app starts with a filled cache; each file is named \
            after the URL exactly as the manifest spells it. files writes files with readable \
            names, and an index.json; asset-catalog writes an asset catalog for Xcode, to a \
            directory that ends with .xcassets; gallery writes a web page with all icons.

            Each object is compared with its digest before its file gets its name. If you run it \
            again, it writes only what has changed. The exit status is 2 if an icon is not in \
            the cache, or is damaged there and was not exported before. Then its file from an \
            earlier export stays.
            """)

    static let guide = CommandGuide(
        usual: [
            "--layout", "--manifest", "--cache", "--prune", "--copy", "--folder",
            "--installer", "--base-url", "--json", "--quiet",
        ],
        examples: [
            .init(
                "Let an app that uses Nuke start with a filled cache.",
                "larder export Seed --layout nuke --manifest apps.json"),
            .init(
                "Write all icons of the cache as files, and remove those that are gone.",
                "larder export public/icons --layout files --prune"),
            .init(
                "Look at all icons in a browser.",
                "larder export gallery --layout gallery --manifest apps.json"),
        ])

    @OptionGroup var cache: CacheOptions
    @OptionGroup var colors: ColorOptions
    @OptionGroup(title: "Reading manifests") var reading: ReadingOptions
    @OptionGroup(title: "Concurrent runs") var locks: LockOptions

    @Argument(
        help: ArgumentHelp(
            "Where to write. A library's cache is a directory in it.",
            valueName: "dir"))
    var directory: String

    @Option(help: "The layout to write. (required)")
    var layout: ExportLayout

    @Option(
        name: .customLong("manifest"),
        help: ArgumentHelp(
            "Only the icons of this manifest. May be repeated. (default: all of the cache)",
            valueName: "manifest"))
    var manifests: [String] = []

    @Option(
        help: ArgumentHelp(
            "The major version of Kingfisher. 7 and earlier are the layout kingfisher7.",
            valueName: "n"))
    var kingfisherVersion = 8

    @Option(
        help: ArgumentHelp(
            """
            The name of the library's directory, if the app has its own: Nuke's DataCache(name:), \
            SDWebImage's namespace, Coil's directory; of Kingfisher, the whole name of the \
            directory, with its prefix.
            """,
            valueName: "name"))
    var folder: String?

    @Flag(help: "Remove files of earlier exports whose icons are no longer exported.")
    var prune = false

    @Flag(help: "Copy every file, instead of cloning or hard-linking the cache's.")
    var copy = false

    @Option(
        help: ArgumentHelp(
            """
            Also write a Swift source file for the app, which puts the exported directory into \
            Library/Caches at launch: for \(ExportLayout.names(where: \.hasInstaller)).
            """,
            valueName: "file"))
    var installer: String?

    @Flag(help: "Print the report as one JSON object.")
    var json = false

    @Flag(name: .shortAndLong, help: "Print nothing, or one line if something is wrong.")
    var quiet = false

    func validate() throws {
        if directory.isEmpty { throw ValidationError("The export needs a directory's name.") }
        try LayoutUsage.validate(
            layout, kingfisherVersion: kingfisherVersion, folder: folder, directory: directory)
        if let installer {
            if installer.isEmpty || installer == "-" {
                throw ValidationError("--installer needs the name of a file.")
            }
            guard layout.hasInstaller else {
                throw ValidationError(
                    "--installer is for the layouts "
                        + "\(ExportLayout.names(where: \.hasInstaller)).")
            }
        }
        try LocalManifests.validate(manifests)
        if manifests.isEmpty, try reading.rules != ManifestRules() {
            throw ValidationError("Options for reading manifests need --manifest.")
        }
    }

    func run() async throws {
        try await CacheRun.of(self, on: cache, locks, isQuiet: quiet, hasOneCache: false) { run in
            run.interrupts.ask("ending what is begun")
            if let installer {
                try OutputFile.confirm(
                    installer, isNoneOf: manifests, orIn: self.cache.path, for: "--installer")
                try OutputReplacement(installer).check()
            }
            let cache = try cache.required(wait: run.wait)
            var configuration = ExportConfiguration(
                layout: LayoutUsage.layout(layout, kingfisherVersion: kingfisherVersion),
                directory: directory)
            configuration.folder = folder
            configuration.isPruning = prune
            configuration.copiesAll = copy
            configuration.manifestRules = try reading.rules
            let sources = try manifests.map {
                try LocalManifests.source($0, rules: configuration.manifestRules, cache: cache)
            }
            let report = try Exporter(
                cache, configuration, isCancelled: { run.interrupts.isAsked },
                onProgress: { run.line.show($0.text("exported")) }
            ).export(manifests.isEmpty ? nil : sources)
            run.line.clear()
            if let installer, !report.isInterrupted,
                let source = try SeedInstaller(
                    report, directory: directory, folder: folder,
                    isCancelled: { run.interrupts.isAsked })?.source
            {
                try OutputFile.write(source, to: installer)
            }
            if json { print(report.json) } else if !quiet { print(report.text(colors.output)) }
            if quiet, let complaint = report.complaint { Console.complain(complaint) }
            if report.isInterrupted { try run.interrupts.status.exit() }
            if report.failed > 0 { try ExitStatus.someFailed.exit() }
        }
    }
}

/// What goes with which layout, for `export` and `import`.
enum LayoutUsage {
    static func layout(_ layout: ExportLayout, kingfisherVersion: Int) -> ExportLayout {
        kingfisherVersion < 8 ? .kingfisher7 : layout
    }

    static func validate(
        _ layout: ExportLayout, kingfisherVersion: Int, folder: String?, directory: String
    ) throws {
        guard (1...8).contains(kingfisherVersion) else {
            throw ValidationError("--kingfisher-version must be from 1 to 8, the newest known.")
        }
        if kingfisherVersion != 8, layout != .kingfisher {
            throw ValidationError("--kingfisher-version needs --layout kingfisher.")
        }
        if let folder {
            guard layout.hasFolder else {
                throw ValidationError("--folder is for the layouts of libraries.")
            }
            guard ExportLayout.isFolder(folder) else {
                throw ValidationError("--folder must be the name of one directory, without '/'.")
            }
        }
        let isCatalog = directory.utf8.reversed().drop { $0 == UInt8(ascii: "/") }
            .starts(with: ".xcassets".utf8.reversed())
        if layout == .assetCatalog, !isCatalog {
            throw ValidationError("An asset catalog's name must end with .xcassets.")
        }
    }
}

extension ExportLayout: ExpressibleByArgument {}
