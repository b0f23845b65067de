import LarderExport
import LarderKit

extension JSONObject {
    /// The counts by reason, and the first icons that failed.
    mutating func set<Code>(_ problems: IconProblems<Code>) {
        var reasons = JSONObject()
        for code in Code.allCases {
            if let count = problems.counts[code] { reasons.set(code.rawValue, count) }
        }
        set("reasons", reasons)
        set("failures", problems.failures.map(\.json))
    }
}

extension IconProblem {
    fileprivate var json: JSONObject {
        var object = JSONObject()
        object.set("code", code.rawValue)
        object.set("name", name.sanitizedForTerminal)
        object.set("url", url?.shownAsURL)
        object.set("message", message.sanitizedForTerminal)
        return object
    }
}
