import LarderKit

extension PlanSummary {
    /// The counts as one JSON object, without a line end.
    package var json: String {
        var object = JSONObject()
        object.set("entries", entries)
        object.set("urls", urls)
        object.set("cached", cached)
        object.set("stale", stale)
        object.set("missing", missing)
        object.set("skipped", skipped)
        object.set("failed", failed)
        object.set("remembered", remembered)
        object.set("left_alone", leftAlone)
        object.set("icons", icons)
        object.set("insecure", insecure)
        object.set("unsupported", unsupported)
        object.set("other_shards", otherShards)
        object.set("unread", unread)
        return object.text
    }
}
