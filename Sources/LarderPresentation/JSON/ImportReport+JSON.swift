import LarderExport
import LarderKit

extension ImportReport {
    /// The report as one JSON object, without a line end.
    package var json: String {
        var object = JSONObject()
        object.set("layout", layout.rawValue)
        object.set("directory", exactly: directory)
        object.set("icons", icons)
        object.set("imported", imported)
        object.set("present", present)
        object.set("missing", missing)
        object.set("skipped", skipped)
        object.set("failed", failed)
        object.set("bytes", bytes)
        object.set(problems)
        object.set("interrupted", isInterrupted)
        object.set("seconds", seconds)
        return object.text
    }
}
