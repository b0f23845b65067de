import LarderExport
import LarderKit

extension ExportReport {
    /// The report as one JSON object, without a line end.
    package var json: String {
        var object = JSONObject()
        object.set("layout", layout.rawValue)
        object.set("directory", exactly: directory)
        object.set("icons", icons)
        object.set("linked", linked)
        object.set("cloned", cloned)
        object.set("copied", copied)
        object.set("unchanged", unchanged)
        object.set("duplicates", duplicates)
        object.set("skipped", skipped)
        object.set("failed", failed)
        object.set("unfinished", unfinished)
        object.set("bytes", bytes)
        object.set("pruned", pruned)
        object.set(problems)
        object.set("interrupted", isInterrupted)
        object.set("seconds", seconds)
        return object.text
    }
}
