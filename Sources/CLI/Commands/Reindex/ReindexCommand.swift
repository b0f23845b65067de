import ArgumentParser
import LarderCache
import LarderCore
import LarderImages

struct ReindexCommand: ReportingCommand {
    static let configuration = CommandConfiguration(
        commandName: "reindex", _superCommandName: "larder",
        abstract: "Rebuild the index from the objects and the old index or its last snapshot.",
        discussion: """
            Reads every object and compares it with its digest. URLs come from the old index, or \
            if it is damaged, from the snapshot of the last run. URLs of damaged objects are kept \
            for the next larder verify --repair or prefetch. Types and sizes of images are filled \
            in where they are unknown. A damaged index is kept next to the \
            new one, with the time in its name. If the index is damaged or missing, a prefetch \
            also rebuilds it.

            EXAMPLES:
              # Rebuild the index of a cache that was restored from a backup.
              larder reindex --cache /srv/icons
            """)

    @OptionGroup var options: RunOptions
    @OptionGroup(title: "Concurrent runs") var locks: LockOptions

    func run() async throws {
        try await CacheRun.of(self, recordedAs: .reindex) { run in
            let report = try cache.existing {
                try Cache.reindex(
                    at: cache.path, wait: run.wait, log: Log.cache,
                    describe: { bytes in
                        let image = try? bytes.withUnsafeBytes { try ImageInspector.inspect($0) }
                        guard let image else { return nil }
                        return ObjectAttributes(
                            mediaType: image.mediaType.rawValue, width: image.width,
                            height: image.height)
                    },
                    isCancelled: { run.interrupts.isAsked }
                ) { run.line.show($0.text("read")) }
            }
            run.note([
                .objects: Int64(report.objects), .resources: Int64(report.resources),
                .damaged: Int64(report.damaged),
            ])
            output.write(json: report.json, text: report.text, complaint: report.complaint)
            if report.isInterrupted { try run.interrupts.status.exit() }
            if report.damaged > 0 { try ExitStatus.someFailed.exit() }
        }
    }
}

extension RecoveryReport {
    package var text: String {
        guard !isInterrupted else { return "interrupted: the index was not changed" }
        let origin =
            switch source {
            case .index: "from the old index"
            case .snapshot: "from the last snapshot"
            case .nothing: "no index or snapshot to restore URLs from"
            }
        var parts = ["index rebuilt: \(objects.of("object")), \(resources.of("URL")) (\(origin))"]
        if damaged > 0 { parts.append(damage) }
        if let setAside { parts.append("the damaged index is kept as \(setAside)") }
        return parts.joined(separator: "; ")
    }

    private var damage: String {
        "\(damaged.of("damaged object")); for details: \(Suggestion.command("verify"))"
    }

    package var complaint: String? { isInterrupted ? text : damaged > 0 ? damage : nil }

    package var json: JSONObject {
        [
            "source": source.rawValue, "objects": objects, "resources": resources,
            "damaged": damaged, "set_aside": setAside, "interrupted": isInterrupted,
        ]
    }
}
