import Foundation
import LarderCache
import Synchronization

// Metric names are part of the public contract (docs/output.md), so they must not change.

final class ServerMetrics: Sendable {
    let requests = Atomic<Int>(0)
    let memoryHits = Atomic<Int>(0)
    let diskHits = Atomic<Int>(0)
    let misses = Atomic<Int>(0)
    let corrupt = Atomic<Int>(0)
    let failures = Atomic<Int>(0)
    let refused = Atomic<Int>(0)
    let timeouts = Atomic<Int>(0)
    let bytes = Atomic<Int>(0)
    let connections = Atomic<Int>(0)
    let openConnections = Atomic<Int>(0)

    func prometheus(memory: (bytes: Int, count: Int)) -> String {
        var text = PrometheusText()
        func add(_ name: String, _ help: String, _ value: Int, _ type: String = "counter") {
            text.add("server_\(name)", help, type, [(nil, String(value))])
        }
        func count(_ name: String, _ help: String, _ counter: borrowing Atomic<Int>) {
            add("\(name)_total", help, counter.load(ordering: .relaxed))
        }
        count("requests", "Requests.", requests)
        count("memory_hits", "Icons and objects sent from memory.", memoryHits)
        count("disk_hits", "Icons and objects read from the disk.", diskHits)
        count("misses", "Requests for icons and objects that are not cached.", misses)
        count("corrupt", "Requests for damaged objects.", corrupt)
        count("failures", "Requests that failed because the cache could not be read.", failures)
        count("refused", "Requests refused before a look-up, including 404 and 421.", refused)
        count("timeouts", "Connections closed after a timeout.", timeouts)
        count("body_bytes", "Bytes of response bodies sent.", bytes)
        count("connections", "Connections accepted.", connections)
        let open = openConnections.load(ordering: .relaxed)
        add("open_connections", "Open connections.", open, "gauge")
        add("memory_bytes", "Memory used by icons, in bytes.", memory.bytes, "gauge")
        add("memory_icons", "Request targets with an icon in memory.", memory.count, "gauge")
        return text.text
    }
}

struct PrometheusText {
    private(set) var text = ""

    /// Adds a metric. Omits samples without a value, because 0 would be a wrong time.
    mutating func add(
        _ name: String, _ help: String, _ type: String,
        _ samples: [(labels: String?, value: String?)]
    ) {
        let lines = samples.compactMap { labels, value in
            value.map { value in "larder_\(name)\(labels.map { "{\($0)}" } ?? "") \(value)\n" }
        }
        guard !lines.isEmpty else { return }
        text += "# HELP larder_\(name) \(help)\n# TYPE larder_\(name) \(type)\n" + lines.joined()
    }

    static func number(_ value: Double) -> String {
        let rounded = (value * 1000).rounded() / 1000
        return Int64(exactly: rounded).map { "\($0)" } ?? "\(rounded)"
    }
}

extension CacheStatus {
    /// The metrics, with the label `cache`, because a machine can have several caches.
    package var prometheus: String {
        var text = PrometheusText()
        let escapes: [Unicode.Scalar: String] = ["\\": "\\\\", "\"": "\\\"", "\n": "\\n"]
        let label = path.unicodeScalars.map { escapes[$0] ?? String($0) }.joined()
        let cache = "cache=\"\(label)\""
        func add(_ name: String, _ help: String, _ value: Double?) {
            text.add(name, help, "gauge", [(cache, value.map(PrometheusText.number))])
        }
        func add(_ name: String, _ help: String, _ date: Date?) {
            add("\(name)_timestamp_seconds", help, date?.timeIntervalSince1970)
        }
        func addRuns(_ name: String, _ help: String, _ value: (RunRecord) -> Double?) {
            text.add(
                "last_run_\(name)", help, "gauge",
                runs.map {
                    let labels = "\(cache),command=\"\($0.command.rawValue)\""
                    return (labels, value($0).map(PrometheusText.number))
                })
        }

        add("objects", "Objects in the index.", Double(totals.objects))
        add("object_bytes", "Total size of the objects, in bytes.", Double(totals.bytes))
        add("disk_bytes", "Disk space used by the objects' files, in bytes.", Double(diskBytes))
        add("resources", "URLs and keys in the index.", Double(totals.resources))
        add("resources_stale", "Stale resources.", Double(totals.resources - totals.freshResources))
        add("failures", "Resources whose last fetch failed.", Double(totals.failures))
        add("pins", "Pinned resources.", Double(totals.pins))
        add("index_bytes", "Size of the index's files, in bytes.", Double(indexBytes))
        add("quarantined", "Files that failed verification.", Double(quarantined))
        add("temporaries", "Entries in tmp from running or killed commands.", Double(temporaries))
        add("oldest_fetch", "Time when the oldest object was stored.", totals.oldest)
        add("newest_fetch", "Time when the newest object was stored.", totals.newest)
        add("oldest_use", "Last use of the least recently used object.", totals.oldestUse)
        add("newest_use", "Last use of the most recently used object.", totals.newestUse)
        addRuns("timestamp_seconds", "Time when the command's last run ended.") {
            $0.ended.timeIntervalSince1970
        }
        addRuns("duration_seconds", "Duration of the last run.") { $0.seconds }
        addRuns("exit_status", "Exit status of the last run.") { Double($0.exitStatus) }
        for count in RunRecord.Count.allCases {
            addRuns(count.rawValue, "Count from the last run: \(count.rawValue).") {
                $0.counts[count.rawValue].map(Double.init)
            }
        }
        return text.text
    }
}
