import LarderKit
import LarderRehearsal

extension RehearsalReport {
    /// The report as one JSON object, without a line end.
    package var json: String {
        var object = JSONObject()
        object.set("rows", rows)
        object.set("urls", urls)
        object.set("rows_without_icon", rowsWithoutIcon)
        object.set("bad_entries", badEntries)
        object.set("rows_visible", visible)
        object.set("prefetch_ahead", prefetchAhead)
        object.set("memory_limit", memoryLimit)
        object.set("strategies", strategies.map(\.json))
        object.set("not_rehearsed", notRehearsed.map(\.rawValue))
        object.set("interrupted", isInterrupted)
        return object.text
    }
}

extension StrategyReport {
    fileprivate var json: JSONObject {
        var object = JSONObject()
        object.set("strategy", strategy.rawValue)
        object.set("rows_shown", rows.shown)
        object.set("memory_hits", rows.memoryHits)
        object.set("disk_hits", rows.diskHits)
        object.set("network_images", rows.networkImages)
        object.set("failed", rows.failed)
        object.set("unseen", rows.unseen)
        object.set("wrong_images", rows.wrong)
        object.set("requests", link.requests)
        object.set("downloads", link.downloads)
        object.set("repeated_downloads", link.repeatedDownloads)
        object.set("failed_requests", link.failures)
        object.set("cancelled_requests", link.cancelled)
        object.set("received_bytes", link.bytes)
        object.set("wasted_bytes", link.wastedBytes)
        object.set("wait_p50", fine: waits?.p50)
        object.set("wait_p95", fine: waits?.p95)
        object.set("wait_p99", fine: waits?.p99)
        object.set("frames", frames.count)
        object.set("frozen_frames", frames.frozen)
        object.set("longest_frame", fine: frames.longest)
        object.set("memory_warnings", warningCount)
        object.set("peak_held_bytes", peakHeld)
        object.set("peak_resident_bytes", peakResident)
        object.set("seconds", seconds)
        object.set("scroll_seconds", scrollSeconds)
        object.set("interrupted", isInterrupted)
        object.set(
            "first_error",
            link.firstFailure.map { JSONObject(errorCode: $0.code, message: $0.message) })
        object.set(
            "store_error",
            storeFailure.map { JSONObject(errorCode: $0.code, message: $0.message) })
        object.set("warnings", warnings.map(\.json))
        object.set("memory", curve.map(\.json))
        return object
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
}

extension MemoryCurve.Point {
    fileprivate var json: JSONObject {
        var object = JSONObject()
        object.set("time", time)
        object.set("held_bytes", held)
        object.set("resident_bytes", resident)
        return object
    }
}
