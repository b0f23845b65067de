import LarderCache
import LarderKit

extension VerifyReport {
    /// Writes the report as one JSON object with a line end, in pieces, since there may be a
    /// finding for each of a million entries.
    package func writeJSON(_ write: (String) throws -> Void) throws {
        var object = JSONObject()
        object.set("clean", isClean)
        object.set("complete", isComplete)
        object.set("objects", objects)
        object.set("bytes", bytes)
        object.set("whole", whole)
        object.set("resources", resources)
        object.set("entries", entries)
        object.set("index_objects", indexObjects)
        object.set("index_bytes", indexBytes)
        object.set("tree_objects", treeObjects)
        object.set("tree_bytes", treeBytes)
        for kind in Finding.Kind.allCases { object.set(kind.rawValue, count(kind)) }
        object.set("repaired", repaired)
        object.set("temporaries", temporaries)
        object.set("seconds", seconds)
        var times = JSONObject()
        for step in Step.allCases { times.set(step.rawValue, steps[step] ?? 0) }
        object.set("steps", times)
        try write("\(object.text.dropLast()),\"findings\":[")
        var separator = ""
        func add(_ finding: Finding) throws {
            try write(separator + finding.json.text)
            separator = ","
        }
        for finding in findings { try add(finding) }
        try entryFindings.forEach(add)
        object = JSONObject()
        object.set("refetches", refetches.map(\.json))
        object.set("interrupted", isInterrupted)
        object.set("resumed", isResumed)
        object.set("reached_end", reachesEnd)
        object.set("leftovers", leftovers)
        object.set("error", failure?.json)
        try write("],\(object.text.dropFirst())\n")
    }
}

extension VerifyReport.Finding {
    fileprivate var json: JSONObject {
        var object = JSONObject()
        object.set("kind", kind.rawValue)
        object.set("subject", subject.sanitizedForTerminal)
        object.set("message", message.sanitizedForTerminal)
        object.set("digest", digest?.description)
        object.set("urls", urls.map(\.shownAsURL))
        object.set("repair", repair?.rawValue)
        object.set("quarantine", quarantine)
        return object
    }
}

extension VerifyReport.Refetch {
    fileprivate var json: JSONObject {
        var object = JSONObject()
        object.set("url", key.shownAsURL)
        object.set("outcome", outcome.rawValue)
        object.set("digest", digest?.description)
        object.set(
            "error", problem.map { JSONObject(errorCode: $0.code, message: $0.message) })
        return object
    }
}
