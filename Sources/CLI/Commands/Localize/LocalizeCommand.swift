import ArgumentParser
import Foundation
import LarderCache
import LarderCore
import LarderExport
import LarderManifest
import LarderPrefetch

struct LocalizeCommand: ReportingCommand, NetworkCommand {
    static let configuration = CommandConfiguration(
        commandName: "localize", _superCommandName: "larder",
        abstract: "Write a copy of a catalogue with local icons.",
        discussion: """
            Only icon values change. Order, comments, indentation, quotation marks and line \
            endings stay the same, and so do values that are never fetched, such as relative \
            names. If an icon is not cached, its URL is kept, and the exit status is 2. Nothing is \
            downloaded without --fetch.

            The new values are files in --icons DIR, URLs of larder serve at --server URL, or data \
            URLs (--data). The default is --icons NAME-icons next to the output. File names \
            contain digits of the digest, so a changed icon gets a new name. Old files are kept.

            The summary counts image URLs that remain anywhere in the file, for example in \
            descriptions, which are not changed.

            EXAMPLES:
              # Write the catalogue and its icons to public.
              larder localize index.yaml --output public/index.yaml --fetch
              # Change a file, and keep the original as dashboard.json.orig.
              larder localize dashboard.json --in-place --data
              # Write a catalogue whose icons are on a server.
              larder localize index.yaml --server http://icons.example > local.yaml
            """)

    enum MissingChoice: String, ExpressibleByArgument, CaseIterable { case keep, placeholder }

    @OptionGroup var options: RunOptions
    @OptionGroup(title: "Reading manifests") var reading: EntryOptions
    @OptionGroup(title: "Revalidation and failures", visibility: .rare)
    var revalidation: RevalidationOptions
    @OptionGroup(title: "Remote", visibility: .rare) var remote: RemoteOptions
    @OptionGroup(title: "Requests", visibility: .rare) var requests: RequestOptions
    @OptionGroup(title: "Connections", visibility: .rare) var connections: ConnectionOptions
    @OptionGroup(title: "Concurrent runs", visibility: .rare) var locks: LockOptions

    @Argument(
        help: .common("A file, a URL that was prefetched, or - for standard input.", "manifest"),
        completion: .manifest)
    var manifest: String

    @Option(
        name: .customLong("output"),
        help: .common("Write the catalogue to this file. (default: standard output)", "file"),
        completion: .file())
    var file: String?

    @Flag(help: "Replace the manifest. FILE.orig keeps the original, even after later runs.")
    var inPlace = false

    @Option(
        help: .common(
            "Write the icons to this directory. The new values are paths relative to the output "
                + "file. For standard output, give this option, --server or --data. (default: "
                + "NAME-icons next to the output)", "dir"), completion: .directory)
    var icons: String?

    @Option(help: .common("Use the icon URLs of the larder server at this URL.", "url"))
    var server: String?

    @Flag(help: "Use data: URLs, which contain the icons.") var data = false

    @Option(
        help: .common("With --data, keep URLs of icons above this size. (default: 64KiB)", "size"),
        transform: ByteCount.parseAboveZero)
    var maxData: Int64?

    @Option(help: "The value of a missing icon: its URL, or a placeholder image.")
    var missing = MissingChoice.keep

    @Flag(help: "Prefetch the manifest first, with the network options of prefetch.")
    var fetch = false

    @Flag(help: .rare("With --fetch, also store icons whose servers forbid storing (no-store)."))
    var storeAnyway = false

    @Flag(help: "Exit with status 2 if an image URL remains anywhere in the file.")
    var strict = false

    func validate() throws {
        try LocalManifests.validate([manifest])
        let isFile = try manifest != "-" && ManifestOptions.url(manifest) == nil
        if file == "" { throw ValidationError("--output needs the name of a file.") }
        if icons == "" { throw ValidationError("--icons needs the name of a directory.") }
        try refuse(if: inPlace && file != nil, "--in-place and --output cannot be combined.")
        try refuse(
            if: inPlace && !isFile, "--in-place cannot be combined with a URL or standard input.")
        try refuse(
            if: [icons != nil, server != nil, data].count(where: \.self) > 1,
            "--icons, --server and --data cannot be combined.")
        if let server { _ = try ServeCommand.base(server, of: "--server") }
        try refuse(if: storeAnyway && !fetch, "--store-anyway needs --fetch.")
        if maxData != nil, !data { throw ValidationError("--max-data needs --data.") }
        try refuse(
            if: maxData ?? 0 > InlineEntry.maximumSize,
            "--max-data must be at most \(InlineEntry.maximumSize >> 10)KiB, because larder does "
                + "not read larger data: URLs.")
        guard path == nil else { return }
        try refuse(
            if: icons == nil && server == nil && !data,
            "To write to standard output, add --icons, --server or --data.")
        try refuse(
            if: output.json, "--json needs --output FILE, because the report uses standard output.")
    }

    private var path: String? { inPlace ? manifest : file == "-" ? nil : file }

    private func target() throws -> LocalizeTarget {
        if let server { return .server(try ServeCommand.base(server, of: "--server")) }
        if data { return .data(limit: maxData ?? 64 << 10) }
        let folder = path?.parentDirectory ?? "."
        let name = path?.lastName ?? ""
        // Drops all extensions: the icons of `index.json.gz` are in `index-icons`.
        let rest = name.utf8.dropFirst().drop { $0 != UInt8(ascii: ".") }
        let stem = name.utf8.prefix(name.utf8.count - rest.count)
        return .icons(icons ?? "\(folder)/\(Substring(stem))-icons", seenFrom: folder)
    }

    func run() async throws {
        try await CacheRun.of(self, makesCache: fetch) { run in
            if let path, !inPlace {
                try OutputFile.confirm(
                    path, isNoneOf: [manifest], orIn: cache.path, for: "--output")
            }
            let replacement = path.map { OutputReplacement($0) }
            try replacement?.check()
            let rules = try reading.rules()
            var source = try ManifestOptions.source(manifest)
            var catalogue: Catalogue?
            if !source.canBeReadAgain {
                // The manifest is read twice, but a pipe can be read only once.
                catalogue = try Catalogue(source, limits: rules.limits)
                source = catalogue?.source ?? source
            }
            let fetched = fetch ? try await prefetch(source, rules, run) : .done
            run.interrupts.ask()
            let cache = try cache.open(wait: run.wait)
            let localizer = try Localizer(
                cache, try target(), rules: rules, hasPlaceholders: missing == .placeholder,
                isCancelled: { run.interrupts.isAsked })
            let report = try localizer.localize(
                try catalogue
                    ?? Catalogue(
                        LocalManifests.source(manifest, cache: cache), limits: rules.limits)
            ) { bytes in
                if let replacement { replacement.add(bytes) } else { try Console.print(bytes) }
            }
            if !report.isInterrupted { try commit(replacement, report) }
            try write(report, localizer.edits)
            if report.isInterrupted { try run.interrupts.status.exit() }
            let remains = strict && report.remaining > 0
            if remains {
                Console.complain(
                    "--strict: \(report.remaining.of("image URL remains", "image URLs remain"))")
            }
            let hasFailed = !report.problems.failures.isEmpty
            try (hasFailed || remains ? ExitStatus.someFailed : fetched).exit()
        }
    }

    private func commit(_ replacement: OutputReplacement?, _ report: LocalizeReport) throws {
        if inPlace, !report.hasChanges { return }
        if inPlace { try OutputFile.copy(manifest, to: "\(manifest).orig") }
        try replacement?.commit()
        guard report.hasChanges, !output.quiet else { return }
        if report.hasBase, server == nil, !data {
            Console.complain(
                "\(manifest.lastName): has a base URL, which clients prepend to the new values;"
                    + " use --server or --data")
        }
        let known = [
            "F-Droid index v1": "index-v1.jar", "F-Droid index v2": "entry.json",
            "addons.xml": "addons.xml.md5",
        ]
        let file: String? =
            ["md5", "sha1", "sha256", "sha512", "sha256sum", "asc", "sig"]
            .map { "\(manifest).\($0)" }
            .first { FileManager.default.fileExists(atPath: $0) }
            ?? known[report.shape ?? ""] ?? known[manifest.lastName]
        guard let file else { return }
        Console.complain(
            "\(file): has a digest or signature of the original \(manifest.lastName);"
                + " create it again for the localized file")
    }

    private func prefetch(
        _ source: ManifestSource, _ rules: ManifestRules, _ run: CacheRun
    ) async throws -> ExitStatus {
        var configuration = try prefetchConfiguration(rules)
        configuration.storesUnstorable = storeAnyway
        revalidation.apply(to: &configuration.policy)
        configuration.remote = try remote.remote(.mirror)
        let status = try await run.carry([source], configuration, self, .prefetch, isPart: true)
        if status != .someFailed { try status.exit() }
        return status
    }

    private func write(_ report: LocalizeReport, _ edits: CatalogueEdits) throws {
        let name = path ?? "-"
        if output.json {
            try report.printJSON(manifest: manifest, output: name, edits)
        } else if !output.quiet {
            let text = report.text(of: manifest, path == nil ? colors.errors : colors.output) + "\n"
            if path == nil { Console.write(text) } else { Console.add(text) }
        }
        if output.quiet, let complaint = report.complaint { Console.complain(complaint) }
    }
}

extension LocalizeReport {
    func text(of manifest: String, _ paint: Paint = .none) -> String {
        var lines = problems.lines(paint)
        let left = kinds.values.reduce(0, +)
        var parts = counted([(localized, "localized"), (unchanged, "unchanged"), (left, "left")])
        parts += problems.failedParts
        let counts = parts.isEmpty ? "" : ": " + parts.joined(separator: ", ")
        let written = files > 0 ? "; wrote \(files.of("file")), \(ByteText.describe(bytes))" : ""
        lines.append(
            "\(icons.of("icon")) in \(manifest.shownAsURL)\(counts)\(written) "
                + "(\(DurationText.describe(seconds)))")
        lines += kinds.notes.map { "  left, \($0.kind): \($0.note)" }
        if problems.skipped > 0 {
            lines.append(problems.skipped.of("entry has no icon", "entries have no icon"))
        }
        let rest =
            remaining == 0
            ? "no image URL remains" : remaining.of("image URL remains", "image URLs remain")
        lines.append(isInterrupted ? Self.interruption : rest)
        return lines.joined(separator: "\n")
    }

    private static let interruption = "interrupted: the output was not written"

    var complaint: String? { isInterrupted ? Self.interruption : problems.complaint }

    /// Prints one replacement at a time, because there can be a million.
    func printJSON(manifest: String, output: String, _ edits: CatalogueEdits) throws {
        var object = JSONObject()
        object.set("manifest", exactly: manifest.shownAsURL)
        object.set("format", format.rawValue)
        object.set("output", exactly: output)
        object.set([
            "icons": icons, "localized": localized, "unchanged": unchanged,
            "placeholders": problems.placeholders, "skipped": problems.skipped,
            "failed": problems.failed, "files": files, "bytes": bytes, "remaining": remaining,
            "kinds": kinds,
        ])
        object.set(problems, isInterrupted, seconds)
        Console.add(String(object.text.dropLast()) + ",\"values\":{")
        var isFirst = true
        try edits.forEachIcon { written, new in
            var pair = JSONObject()
            pair.set(written.maskingSecretsInQuery, exactly: new)
            Console.add((isFirst ? "" : ",") + pair.text.dropFirst().dropLast())
            isFirst = false
        }
        Console.add("}}\n")
    }
}
