import Foundation
import LarderCache
import NIOCore
import Synchronization

// The names written here are a contract: docs/output.md. They only ever grow.

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
        count("misses", "Icons and objects that are not cached.", misses)
        count("corrupt", "Requests for damaged objects.", corrupt)
        count("failures", "Requests for which the cache was unreadable.", failures)
        count(
            "refused", "Requests refused before anything was looked up, 404 and 421 too.", refused)
        count("timeouts", "Connections closed for being too slow or idle.", timeouts)
        count("body_bytes", "Bytes of bodies that were sent.", bytes)
        count("connections", "Connections accepted.", connections)
        let open = openConnections.load(ordering: .relaxed)
        add("open_connections", "Connections that are open.", open, "gauge")
        add("memory_bytes", "What icons in memory take.", memory.bytes, "gauge")
        add("memory_icons", "Targets whose answers are in memory.", memory.count, "gauge")
        return text.text
    }
}

/// The metrics of the cache. A count looks at all objects, so it takes at most 5 % of the time.
final class CachedStatus: Sendable {
    private let cache: LiveCache
    private let status = Rebuilt<Bool, String>(.init(least: .seconds(5), factor: 20, most: .zero))

    init(_ cache: LiveCache) { self.cache = cache }

    /// Returns the last count in Prometheus' text format, or counts.
    func prometheus() throws -> String {
        guard case .build = status.step(true) else { return status.last ?? "" }
        let start = NIODeadline.now()
        let text = Result { try cache.using { try $0.status() }.prometheus }
        status.end(try? text.get(), of: true, since: start)
        return try text.get()
    }
}

/// Text in Prometheus' format, version 0.0.4.
struct PrometheusText {
    private(set) var text = ""

    /// Adds a metric. A sample without a value is left out, because a time that never was is not 0.
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

    /// Returns whole numbers without a point, others to a millisecond.
    static func number(_ value: Double) -> String {
        let rounded = (value * 1000).rounded() / 1000
        return Int64(exactly: rounded).map { "\($0)" } ?? "\(rounded)"
    }
}

extension CacheStatus {
    /// The status in Prometheus' text format, also for the textfile collector of its node exporter.
    /// Every sample has the label `cache`, because a machine may have several.
    package var prometheus: String {
        var text = PrometheusText()
        let label = path.utf8.flatMap { byte -> [UInt8] in
            switch byte {
            case UInt8(ascii: "\\"), UInt8(ascii: "\""): [UInt8(ascii: "\\"), byte]
            case UInt8(ascii: "\n"): Array("\\n".utf8)
            default: [byte]
            }
        }
        let cache = "cache=\"\(String(decoding: label, as: UTF8.self))\""
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
                    (
                        "\(cache),command=\"\($0.command.rawValue)\"",
                        value($0).map(PrometheusText.number)
                    )
                })
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
        return text.text
    }
}
