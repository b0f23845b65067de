import ArgumentParser
import Foundation
import LarderCache
import LarderCore

struct SnapshotCommand: ReportingCommand {
    static let configuration = CommandConfiguration(
        commandName: "snapshot", _superCommandName: "larder",
        abstract: "Copy the cache for a read-only medium or another machine.",
        discussion: """
            The copy is consistent, and other processes may use the cache during the run. The copy \
            contains a single index file, without a write-ahead log, and the objects in it. Each \
            object is compared with its digest while it is copied. The directory gets its name \
            when the copy is complete and durable. The exit status is 2 if an object was omitted \
            because it is damaged or unreadable.

            EXAMPLES:
              # Copy the cache to a read-only medium.
              larder snapshot /media/usb/icons
            """)

    @OptionGroup var options: RunOptions
    @OptionGroup(title: "Concurrent runs") var locks: LockOptions

    @Argument(help: "A new or empty directory for the copy.", completion: .directory)
    var directory: String

    func validate() throws {
        if directory.isEmpty { throw ValidationError("The name of the directory is empty.") }
    }

    func run() async throws {
        try await CacheRun.of(self, hasOneCache: false) { run in
            // An immediate exit would leave files behind, so signals only cancel the copy.
            run.interrupts.ask()
            do {
                let report = try cache.open(wait: run.wait).snapshot(
                    to: directory, isCancelled: { run.interrupts.isAsked }
                ) { run.line.show($0.text("copied")) }
                output.write(json: report.json, text: report.text, complaint: report.complaint)
                if !report.hasAllObjects { try ExitStatus.someFailed.exit() }
            } catch is CancellationError {
                Console.complain("interrupted: nothing was copied")
                try run.interrupts.status.exit()
            }
        }
    }
}

extension SnapshotReport {
    package var text: String {
        let lines =
            damaged.map { "\($0): damaged, not copied" }
            + unreadable.map { "\($0): unreadable, not copied" }
        let parts =
            ["copied \(objects.of("object"))\(sizeClause(bytes))"]
            + (resources > 0 ? [resources.of("resource")] : [])
            + counted([(evicted, "evicted during the copy")]) + omissions
        let summary = "\(parts.joined(separator: ", ")) (\(DurationText.describe(seconds)))"
        return (lines + [summary]).joined(separator: "\n")
    }

    private var omissions: [String] {
        counted([(damaged.count, "damaged"), (unreadable.count, "unreadable")])
    }

    package var complaint: String? {
        if hasAllObjects { return nil }
        let found = omissions.joined(separator: ", ")
        return "\(found), not copied; for details: \(Suggestion.command("verify"))"
    }

    package var json: JSONObject {
        [
            "objects": objects, "bytes": bytes, "resources": resources, "evicted": evicted,
            "damaged": damaged.map { "\($0)" }, "seconds": seconds,
            "unreadable": unreadable.map { "\($0)" },
        ]
    }
}
