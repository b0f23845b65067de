import LarderKit

extension RemoteVerifyReport {
    /// The report as one JSON object, without a line end.
    package var json: String {
        var object = JSONObject()
        object.set("location", location)
        object.set("objects", objects)
        object.set("bytes", bytes)
        object.set("references", references)
        for kind in Finding.Kind.allCases { object.set(kind.rawValue, counts[kind, default: 0]) }
        object.set("repaired", repaired)
        object.set("unreferenced", unreferenced)
        object.set("foreign", foreign)
        object.set(
            "findings",
            findings.map { finding in
                var object = JSONObject()
                object.set("kind", finding.kind.rawValue)
                object.set("digest", finding.digest.description)
                object.set("references", finding.references)
                object.set("repair", finding.repair?.rawValue)
                return object
            })
        object.set("seconds", seconds)
        object.set("interrupted", isInterrupted)
        return object.text
    }
}
