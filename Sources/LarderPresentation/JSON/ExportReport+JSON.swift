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
        var reasons = JSONObject()
        for code in ExportProblem.Code.allCases {
            if let count = problems[code] { reasons.set(code.rawValue, count) }
        }
        object.set("reasons", reasons)
        object.set("failures", failures.map(\.json))
        object.set("interrupted", isInterrupted)
        object.set("seconds", seconds)
        return object.text
    }
}

extension ExportProblem {
    fileprivate var json: JSONObject {
        var object = JSONObject()
        object.set("code", code.rawValue)
        object.set("name", name.sanitizedForTerminal)
        object.set("url", url?.shownAsURL)
        object.set("message", message.sanitizedForTerminal)
        return object
    }
}
