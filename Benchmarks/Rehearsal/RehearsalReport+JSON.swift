import Foundation
import LarderCore

extension RehearsalReport {
    var json: String {
        var object = JSONObject()
        object.set("rows", rows)
        object.set("urls", urls)
        object.set("rows_without_icon", rowsWithoutIcon)
        object.set("bad_entries", badEntries)
        object.set("rows_visible", visible)
        object.set("prefetch_ahead", prefetchAhead)
        object.set("memory_limit", memoryLimit)
        object.set("strategies", strategies.map(\.json))
        object.set("interrupted", strategies.contains(where: \.isInterrupted))
        return object.text
    }

    /// Reads the strategy from a file with the ``json`` of a report.
    static func strategy(inFile path: String) throws -> StrategyReport {
        guard let data = FileManager.default.contents(atPath: path),
            let report = try? JSONSerialization.jsonObject(with: data) as? [String: Any],
            let strategies = report["strategies"] as? [[String: Any]],
            let object = strategies.last, let strategy = StrategyReport(object)
        else { throw UnreadableReportError(path: path) }
        return strategy
    }
}

struct UnreadableReportError: Error, CustomStringConvertible {
    let path: String

    var description: String {
        "\(path.sanitizedForTerminal): is not a report of `rehearse --json` with a strategy"
    }
}

extension StrategyReport {
    private static var counts: KeyValuePairs<String, WritableKeyPath<Self, Int>> {
        [
            "rows_shown": \.rows.shown, "memory_hits": \.rows.memoryHits,
            "disk_hits": \.rows.diskHits, "network_images": \.rows.networkImages,
            "failed": \.rows.failed, "unseen": \.rows.unseen, "wrong_images": \.rows.wrong,
            "requests": \.link.requests, "downloads": \.link.downloads,
            "repeated_downloads": \.link.repeatedDownloads,
            "failed_requests": \.link.failures, "cancelled_requests": \.link.cancelled,
            "frames": \.frames.count, "frozen_frames": \.frames.frozen,
            "memory_warnings": \.warningCount, "peak_held_bytes": \.peakHeld,
        ]
    }

    private static var sizes: KeyValuePairs<String, WritableKeyPath<Self, Int64>> {
        [
            "received_bytes": \.link.bytes, "wasted_bytes": \.link.wastedBytes,
            "peak_resident_bytes": \.peakResident,
        ]
    }

    fileprivate var json: JSONObject {
        var object = JSONObject()
        object.set("strategy", strategy.rawValue)
        for (key, path) in Self.counts { object.set(key, self[keyPath: path]) }
        for (key, path) in Self.sizes { object.set(key, self[keyPath: path]) }
        object.set("wait_p50", fine: waits?.p50)
        object.set("wait_p95", fine: waits?.p95)
        object.set("wait_p99", fine: waits?.p99)
        object.set("longest_frame", fine: frames.longest)
        object.set("seconds", seconds)
        object.set("scroll_seconds", scrollSeconds)
        object.set("interrupted", isInterrupted)
        object.set("first_error", link.firstFailure.map { Self.error($0.code, $0.message) })
        object.set("store_error", storeFailure.map { Self.error($0.code, $0.message) })
        object.set("warnings", warnings.map(\.json))
        object.set("memory", curve.map(\.json))
        return object
    }

    private static func error(_ code: String, _ message: String) -> JSONObject {
        var object = JSONObject()
        object.set("code", code)
        object.set("message", message.sanitizedForTerminal)
        return object
    }

    /// Decodes ``json``, but ignores its errors. Returns nil if the object has no strategy.
    fileprivate init?(_ object: [String: Any]) {
        func number(_ key: String) -> Double? { object[key] as? Double }
        guard let strategy = (object["strategy"] as? String).flatMap(StrategyName.init) else {
            return nil
        }
        self.init(strategy)
        for (key, path) in Self.counts { self[keyPath: path] = object[key] as? Int ?? 0 }
        for (key, path) in Self.sizes { self[keyPath: path] = object[key] as? Int64 ?? 0 }
        if let p50 = number("wait_p50"), let p95 = number("wait_p95"), let p99 = number("wait_p99")
        {
            waits = Waits(p50: p50, p95: p95, p99: p99)
        }
        frames.longest = number("longest_frame") ?? 0
        seconds = number("seconds") ?? 0
        scrollSeconds = number("scroll_seconds") ?? 0
        isInterrupted = object["interrupted"] as? Bool ?? false
        warnings = (object["warnings"] as? [[String: Any]] ?? []).compactMap(MemoryWarning.init)
        curve = (object["memory"] as? [[String: Any]] ?? []).compactMap(MemoryCurve.Point.init)
    }
}

extension MemoryWarning {
    fileprivate var json: JSONObject {
        var object = JSONObject()
        object.set("time", time)
        object.set("held_before", before)
        object.set("held_after", after)
        return object
    }

    fileprivate init?(_ object: [String: Any]) {
        guard let time = object["time"] as? Double, let before = object["held_before"] as? Int,
            let after = object["held_after"] as? Int
        else { return nil }
        self.init(time: time, before: before, after: after)
    }
}

extension MemoryCurve.Point {
    fileprivate var json: JSONObject {
        var object = JSONObject()
        object.set("time", time)
        object.set("held_bytes", held)
        object.set("resident_bytes", resident)
        return object
    }

    fileprivate init?(_ object: [String: Any]) {
        guard let time = object["time"] as? Double, let held = object["held_bytes"] as? Int,
            let resident = object["resident_bytes"] as? Int64
        else { return nil }
        self.init(time: time, held: held, resident: resident)
    }
}
