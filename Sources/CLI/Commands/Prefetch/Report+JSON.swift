import LarderCore
import LarderPrefetch

extension Report {
    package var json: String {
        var object = JSONObject()
        object.set("entries", entries)
        for outcome in EntryResult.Outcome.allCases { object.set(outcome.rawValue, count(outcome)) }
        object.set("failures", counts: failures)
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

extension RemoteReport {
    var json: JSONObject {
        var object = JSONObject()
        object.set("location", location)
        object.set("pulled", pulled)
        object.set("pulled_bytes", pulledBytes)
        object.set("pushed", pushed)
        object.set("pushed_bytes", pushedBytes)
        object.set("present", present)
        object.set("unpushed", unpushed)
        object.set("personal", personal)
        object.set("faults", counts: faults)
        object.set("first_fault", firstFault)
        object.set("error", failure)
        return object
    }
}

extension EntryResult {
    package var json: String {
        var object = JSONObject()
        object.set("manifest", manifest.sanitizedForTerminal)
        object.set("position", position)
        object.set("name", name.sanitizedForTerminal)
        object.set("url", url?.shownAsURL)
        object.set("outcome", outcome.rawValue)
        object.set("digest", digest?.description)
        object.set("bytes", bytes)
        object.set("media_type", attributes.mediaType)
        object.set("width", attributes.width)
        object.set("height", attributes.height)
        object.set("attempts", attempts)
        object.set("seconds", seconds)
        object.set("error", failure.map { JSONObject(errorCode: $0.code, message: $0.message) })
        object.set("icon_number", icon)
        return object.text
    }
}
