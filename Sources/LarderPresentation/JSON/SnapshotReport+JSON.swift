import LarderCache
import LarderKit

extension SnapshotReport {
    /// The report as one JSON object, without a line end.
    package var json: String {
        var object = JSONObject()
        object.set("objects", objects)
        object.set("bytes", bytes)
        object.set("resources", resources)
        object.set("evicted", evicted)
        object.set("damaged", damaged.map { "\($0)" })
        object.set("seconds", seconds)
        object.set("unreadable", unreadable.map { "\($0)" })
        return object.text
    }
}
