import LarderCache
import LarderKit

extension VerifyReport {
    /// The report as one JSON object, without a line end.
    package var json: String {
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
        object.set("findings", findings.map(\.json))
        object.set("refetches", refetches.map(\.json))
        object.set("interrupted", isInterrupted)
        object.set("resumed", isResumed)
        object.set("reached_end", reachesEnd)
        object.set("leftovers", leftovers)
        object.set("error", failure?.json)
        return object.text
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
