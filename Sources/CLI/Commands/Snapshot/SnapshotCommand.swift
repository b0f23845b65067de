import ArgumentParser
import Foundation
import LarderCache
import LarderCore

struct SnapshotCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "snapshot",
        abstract:
            "Write one consistent copy of the cache, for a read-only medium or another machine.",
        discussion: """
            The copy has one index file, without a log, and every object in the index. Each \
            object is checked against its digest while it is copied. The copy gets its name only \
            when it is complete and durable. Other processes may use the cache meanwhile. The \
            exit status is 2 if an object was left out because it was damaged or could not be read.

            EXAMPLES:
              # Copy the cache for a medium that is only read.
              larder snapshot /media/usb/icons
            """)

    @OptionGroup var cache: CacheOptions
    @OptionGroup var output: ReportOptions
    @OptionGroup(title: "Concurrent runs") var locks: LockOptions

    @Argument(help: "Where to write the copy: a new or empty directory.", completion: .directory)
    var directory: String

    func validate() throws {
        if directory.isEmpty { throw ValidationError("The copy needs the name of a directory.") }
    }

    func run() async throws {
        try await CacheRun.of(self, on: cache, locks, isQuiet: output.quiet, hasOneCache: false) {
            run in
            // From the start, because leaving at once would leave files behind.
            run.interrupts.ask("ending what is begun")
            let report: SnapshotReport
            do {
                report = try Cache.open(at: cache.path, wait: run.wait).snapshot(
                    to: directory, isCancelled: { run.interrupts.isAsked }
                ) { run.line.show($0.text("copied")) }
            } catch is CancellationError {
                run.line.clear()
                Console.complain("interrupted: nothing was copied")
                return try run.interrupts.status.exit()
            }
            run.line.clear()
            output.write(json: report.json, text: report.text, complaint: report.complaint)
            if !report.hasAllObjects { try ExitStatus.someFailed.exit() }
        }
    }
}

extension SnapshotReport {
    package var text: String {
        var lines =
            damaged.map { "\($0): is not whole, and was left out" }
            + unreadable.map { "\($0): could not be read, and was left out" }
        lines.append(
            "copied \(objects) objects, \(ByteText.describe(bytes)), \(resources) resources"
                + (evicted > 0 ? ", \(evicted) evicted meanwhile" : "")
                + (damaged.isEmpty ? "" : ", \(damaged.count) damaged")
                + (unreadable.isEmpty ? "" : ", \(unreadable.count) unreadable")
                + " (\(DurationText.describe(seconds)))")
        return lines.joined(separator: "\n")
    }

    package var complaint: String? {
        if hasAllObjects { return nil }
        let found = [(damaged.count, "not whole"), (unreadable.count, "unreadable")]
            .filter { $0.0 > 0 }.map { "\($0.0) \($0.1)" }.joined(separator: ", ")
        return "\(found), left out of the copy; larder verify says more"
    }

    package var json: String {
        var object = JSONObject()
        object.set("objects", objects)
        object.set("bytes", bytes)
        object.set("resources", resources)
        object.set("evicted", evicted)
        object.set("damaged", damaged.map { "\($0)" })
        object.set("seconds", seconds)
        object.set("unreadable", unreadable.map { "\($0)" })
        return object.text
    }
}
