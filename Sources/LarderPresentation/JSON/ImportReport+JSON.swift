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
        var reasons = JSONObject()
        for code in ImportProblem.Code.allCases {
            if let count = problems[code] { reasons.set(code.rawValue, count) }
        }
        object.set("reasons", reasons)
        object.set("failures", failures.map(\.json))
        object.set("interrupted", isInterrupted)
        object.set("seconds", seconds)
        return object.text
    }
}

extension ImportProblem {
    fileprivate var json: JSONObject {
        var object = JSONObject()
        object.set("code", code.rawValue)
        object.set("name", name.sanitizedForTerminal)
        object.set("url", url?.shownAsURL)
        object.set("message", message.sanitizedForTerminal)
        return object
    }
}
