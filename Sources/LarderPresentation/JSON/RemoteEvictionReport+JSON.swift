import LarderKit

extension RemoteEvictionReport {
    /// The report as one JSON object, without a line end.
    package var json: String {
        var object = JSONObject()
        object.set("location", location)
        object.set("dry_run", isDryRun)
        object.set("objects", objects)
        object.set("bytes", bytes)
        object.set("references", references)
        object.set("expired", expired)
        object.set("replaced", replaced)
        object.set("evicted_objects", evictedObjects)
        object.set("evicted_bytes", evictedBytes)
        object.set("undone", undone)
        object.set("seconds", seconds)
        object.set("interrupted", isInterrupted)
        return object.text
    }
}
