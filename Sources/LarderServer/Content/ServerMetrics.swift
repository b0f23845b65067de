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
