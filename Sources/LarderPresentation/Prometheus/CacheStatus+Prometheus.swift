import Foundation
import LarderCache

// The names written here are a contract: docs/output.md. They only ever grow.

extension CacheStatus {
    /// The status in Prometheus' text format, version 0.0.4, for the textfile collector of its node
    /// exporter. Every sample has the label `cache`, so that one machine may have several.
    ///
    /// What is not there has no sample: a time that never was is not 0.
    package var prometheus: String {
        var text = ""
        func add(_ name: String, _ help: String, _ samples: [(labels: String, value: Double?)]) {
            let samples = samples.compactMap { sample in
                sample.value.map { "larder_\(name){\(sample.labels)} \(Self.number($0))\n" }
            }
            guard !samples.isEmpty else { return }
            text += "# HELP larder_\(name) \(help)\n# TYPE larder_\(name) gauge\n"
            text += samples.joined()
        }
        let cache = "cache=\"\(Self.escaped(path))\""
        func add(_ name: String, _ help: String, _ value: Double?) {
            add(name, help, [(cache, value)])
        }
        func add(_ name: String, _ help: String, _ date: Date?) {
            add("\(name)_timestamp_seconds", help, date?.timeIntervalSince1970)
        }
        func addRuns(_ name: String, _ help: String, _ value: (RunRecord) -> Double?) {
            let samples = runs.map { run in
                (labels: "\(cache),command=\"\(run.command.rawValue)\"", value: value(run))
            }
            add("last_run_\(name)", help, samples)
        }

        add("objects", "Objects in the index.", Double(totals.objects))
        add("object_bytes", "The sum of their sizes.", Double(totals.bytes))
        add("disk_bytes", "What their files take on disk.", Double(diskBytes))
        add("resources", "URLs and keys in the index.", Double(totals.resources))
        add(
            "resources_stale", "Those that are not used without asking.",
            Double(totals.resources - totals.freshResources))
        add("failures", "Resources that failed when last asked for.", Double(totals.failures))
        add("pins", "Resources that are pinned.", Double(totals.pins))
        add("index_bytes", "The size of the index's files.", Double(indexBytes))
        add("quarantined", "Files that failed verification.", Double(quarantined))
        add("temporaries", "Runs under way, and leftovers of dead ones.", Double(temporaries))
        add("oldest_fetch", "When the first of the objects was stored.", totals.oldest)
        add("newest_fetch", "When the last of the objects was stored.", totals.newest)
        add("oldest_use", "When the least recently used object was used.", totals.oldestUse)
        add("newest_use", "When the most recently used object was used.", totals.newestUse)
        addRuns("timestamp_seconds", "When the last run of the command ended.") {
            $0.ended.timeIntervalSince1970
        }
        addRuns("duration_seconds", "How long it took.") { $0.seconds }
        addRuns("exit_status", "The status that it ended with.") { Double($0.exitStatus) }
        for count in RunRecord.Count.allCases {
            addRuns(count.rawValue, "What it counted: \(count.rawValue).") {
                $0.counts[count].map(Double.init)
            }
        }
        return text
    }

    /// Whole numbers without a point, others to a millisecond.
    private static func number(_ value: Double) -> String {
        let rounded = (value * 1000).rounded() / 1000
        return Int64(exactly: rounded).map { "\($0)" } ?? "\(rounded)"
    }

    private static func escaped(_ label: String) -> String {
        label.replacingOccurrences(of: "\\", with: "\\\\")
            .replacingOccurrences(of: "\"", with: "\\\"")
            .replacingOccurrences(of: "\n", with: "\\n")
    }
}
