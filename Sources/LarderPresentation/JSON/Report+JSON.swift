import LarderKit

extension Report {
    /// The summary as one JSON object, without a line end.
    package var json: String {
        var object = JSONObject()
        object.set("entries", entries)
        for outcome in EntryResult.Outcome.allCases {
            object.set(outcome.rawValue, count(outcome))
        }
        var reasons = JSONObject()
        for (reason, count) in failures.sorted(by: { $0.key < $1.key }) {
            reasons.set(reason, count)
        }
        object.set("failures", reasons)
        object.set("received_bytes", receivedBytes)
        object.set("seconds", seconds)
        object.set("interrupted", isInterrupted)
        object.set("error", failure?.json)
        object.set("icons", icons)
        object.set("other_shards", otherShards)
        object.set("remote", remote?.json)
        object.set("unread", unread)
        return object.text
    }
}
