import LarderCache
import LarderKit

extension RecoveryReport {
    /// The report as one JSON object, without a line end.
    package var json: String {
        var object = JSONObject()
        object.set("source", source.rawValue)
        object.set("objects", objects)
        object.set("resources", resources)
        object.set("damaged", damaged)
        object.set("set_aside", setAside)
        object.set("interrupted", isInterrupted)
        return object.text
    }
}
