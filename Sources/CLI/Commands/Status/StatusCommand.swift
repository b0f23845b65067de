import ArgumentParser
import Foundation
import LarderCache
import LarderCore

struct StatusCommand: CacheCommand {
    enum Format: String, ExpressibleByArgument, CaseIterable { case text, json, prometheus }

    static let configuration = CommandConfiguration(
        commandName: "status", _superCommandName: "larder",
        abstract: "Show the contents of the cache and the last runs.",
        discussion: """
            --format prometheus is for the textfile collector of the Prometheus node exporter. Use \
            --output to write a .prom file to the collector's directory.

            EXAMPLES:
              # Show the status of the default cache.
              larder status
              # Write metrics for Prometheus.
              larder status --format prometheus --output /srv/metrics/larder.prom
            """)

    @OptionGroup var cache: CacheOptions

    @Option(help: "The output format. (default: text)") var format: Format?

    @Flag(help: "The same as --format json.") var json = false

    @Option(
        help: .common("Replace this file atomically, or write to standard output (-).", "file"),
        completion: .file())
    var output: String?

    func validate() throws {
        if json, let format, format != .json {
            throw ValidationError("--json and --format \(format) cannot be combined.")
        }
        if output == "" { throw ValidationError("--output needs the name of a file.") }
    }

    func run() async throws {
        let status = try cache.open().status()
        let text =
            switch format ?? (json ? .json : .text) {
            case .text: status.text(output == nil || output == "-" ? colors.output : .none) + "\n"
            case .json: status.json.text + "\n"
            case .prometheus: status.prometheus
            }
        if let output, output != "-" {
            try OutputFile.confirm(output, orIn: cache.path, for: "--output")
            try OutputFile.write(text, to: output)
        } else {
            print(text, terminator: "")
        }
    }
}

extension CacheStatus {
    package func text(_ paint: Paint = .none) -> String {
        let stale = totals.resources - totals.freshResources
        let resources = nonzero([
            (totals.resources, "\(totals.resources)"),
            (totals.freshResources, "\(totals.freshResources) fresh"),
            (stale, paint.stale("\(stale) stale")),
        ])
        return """
            cache      \(path.sanitizedForTerminal)
            objects    \(totals.objects)\(sizeClause(totals.bytes))\
            \(diskBytes > 0 ? " (\(ByteText.describe(diskBytes)) on disk)" : "")
            resources  \(resources.joined(separator: ", "))
            index      \(ByteText.describe(indexBytes))
            """
                + (totals.failures > 0
                    ? "\nfailures   " + paint.failed("\(totals.failures) remembered") : "")
                + (totals.pins > 0 ? "\npins       \(totals.pins)" : "")
                + (unreadable > 0 ? "\nunreadable \(unreadable) directories of objects" : "")
                + (quarantined > 0 ? "\nquarantine \(quarantined.of("file"))" : "")
                + runs.map { "\n\($0.text(paint))" }.joined()
    }

    package var json: JSONObject {
        let runs = runs.map { $0.json { $0.timeIntervalSince1970 } }
        return [
            "path": path.sanitizedForTerminal, "objects": totals.objects, "bytes": totals.bytes,
            "resources": totals.resources, "fresh": totals.freshResources,
            "stale": totals.resources - totals.freshResources, "disk_bytes": diskBytes,
            "index_bytes": indexBytes, "temporaries": temporaries,
            "oldest": totals.oldest?.timeIntervalSince1970,
            "newest": totals.newest?.timeIntervalSince1970, "failures": totals.failures,
            "pins": totals.pins, "quarantined": quarantined,
            "oldest_use": totals.oldestUse?.timeIntervalSince1970,
            "newest_use": totals.newestUse?.timeIntervalSince1970, "unreadable": unreadable,
            "runs": runs,
        ]
    }
}

extension RunRecord {
    fileprivate func text(_ paint: Paint) -> String {
        let name = command.rawValue.padding(toLength: 11, withPad: " ", startingAt: 0)
        return "\(name)ended \(UTCTime.timestamp(ended)) after \(DurationText.describe(seconds))"
            + " with " + (exitStatus == 0 ? "status 0" : paint.failed("status \(exitStatus)"))
    }
}
