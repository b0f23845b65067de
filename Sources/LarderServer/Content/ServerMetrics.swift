import Foundation
import LarderCache
import Synchronization

/// What a server has done since it was started.
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

    /// In Prometheus' text format, version 0.0.4.
    func prometheus(memory: (bytes: Int, count: Int)) -> String {
        var text = ""
        func add(_ name: String, _ help: String, _ value: Int, isGauge: Bool = false) {
            text += """
                # HELP larder_server_\(name) \(help)
                # TYPE larder_server_\(name) \(isGauge ? "gauge" : "counter")
                larder_server_\(name) \(value)

                """
        }
        func count(_ counter: borrowing Atomic<Int>) -> Int { counter.load(ordering: .relaxed) }
        add("requests_total", "Requests.", count(requests))
        add("memory_hits_total", "Icons and objects sent from memory.", count(memoryHits))
        add("disk_hits_total", "Icons and objects read from the disk.", count(diskHits))
        add("misses_total", "Icons and objects that are not cached.", count(misses))
        add("corrupt_total", "Requests for damaged objects.", count(corrupt))
        add("failures_total", "Requests for which the cache was unreadable.", count(failures))
        add(
            "refused_total", "Requests refused before anything was looked up, 404 and 421 too.",
            count(refused))
        add("timeouts_total", "Connections closed for being too slow or idle.", count(timeouts))
        add("body_bytes_total", "Bytes of bodies that were sent.", count(bytes))
        add("connections_total", "Connections accepted.", count(connections))
        add("open_connections", "Connections that are open.", count(openConnections), isGauge: true)
        add("memory_bytes", "What icons in memory take.", memory.bytes, isGauge: true)
        add("memory_icons", "Targets whose answers are in memory.", memory.count, isGauge: true)
        return text
    }
}

/// The metrics of the cache, counted at most every few seconds: each count looks at all objects.
final class CachedStatus: Sendable {
    private struct State {
        var text = ""
        var validUntil = ContinuousClock.now
        var isCounting = false
    }

    private let reader: CacheReader
    private let state = Mutex(State())

    init(_ reader: CacheReader) { self.reader = reader }

    /// In Prometheus' text format. Whoever asks while another counts gets the last count.
    func prometheus() throws -> String {
        let last: String? = state.withLock { state in
            if state.isCounting || ContinuousClock.now < state.validUntil { return state.text }
            state.isCounting = true
            return nil
        }
        if let last { return last }
        let start = ContinuousClock.now
        let text = Result { try reader.cache.using { try $0.status() }.prometheus }
        let end = ContinuousClock.now
        state.withLock { state in
            state.isCounting = false
            // A twentieth of the time at most is spent on it.
            state.validUntil = end + max(.seconds(5), (end - start) * 20)
            if let text = try? text.get() { state.text = text }
        }
        return try text.get()
    }
}

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
        let bytes = label.utf8.flatMap { byte -> [UInt8] in
            switch byte {
            case UInt8(ascii: "\\"), UInt8(ascii: "\""): [UInt8(ascii: "\\"), byte]
            case UInt8(ascii: "\n"): Array("\\n".utf8)
            default: [byte]
            }
        }
        return String(decoding: bytes, as: UTF8.self)
    }
}
