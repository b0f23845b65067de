import LarderCache

// The keys written here are a contract: docs/output.md. They only ever grow.

extension EntryResult {
    /// The entry's line in a report: one JSON object, without a line end.
    public var json: String {
        var object = JSONObject()
        object.set("manifest", manifest.sanitizedForTerminal)
        object.set("position", position)
        object.set("name", name.sanitizedForTerminal)
        object.set("url", url?.sanitizedForTerminal)
        object.set("outcome", outcome.rawValue)
        object.set("digest", digest?.description)
        object.set("bytes", bytes)
        object.set("media_type", attributes.mediaType)
        object.set("width", attributes.width)
        object.set("height", attributes.height)
        object.set("attempts", attempts)
        object.set("seconds", seconds)
        var error: JSONObject?
        if let problem {
            error = JSONObject()
            error?.set("code", problem.code)
            error?.set("message", problem.message.sanitizedForTerminal)
        }
        object.set("error", error)
        return object.text
    }
}

extension Report {
    /// The summary as one JSON object, without a line end.
    public var json: String {
        var object = JSONObject()
        object.set("entries", entries)
        for outcome in EntryResult.Outcome.allCases {
            object.set(outcome.rawValue, count(outcome))
        }
        var reasons = JSONObject()
        for (reason, count) in failures.sorted(by: { $0.key < $1.key }) {
            reasons.set(reason, count)
        }
        object.set("failures", reasons)
        object.set("received_bytes", receivedBytes)
        object.set("seconds", seconds)
        object.set("interrupted", isInterrupted)
        let error = failure.map { failure in
            var error = JSONObject()
            error.set("code", failure.code.rawValue)
            error.set("message", failure.description.sanitizedForTerminal)
            return error
        }
        object.set("error", error)
        return object.text
    }
}

extension PlannedEntry {
    /// The entry's line in `plan --json`, without a line end.
    public var json: String {
        var object = JSONObject()
        object.set("manifest", manifest.sanitizedForTerminal)
        object.set("position", position)
        object.set("name", name.sanitizedForTerminal)
        object.set("url", url?.sanitizedForTerminal)
        object.set("status", statusWord)
        object.set("priority", priority)
        object.set("duplicate", isDuplicate)
        var problem: JSONObject?
        if let error {
            problem = JSONObject()
            problem?.set("code", error.code)
            problem?.set("message", error.message.sanitizedForTerminal)
        }
        object.set("error", problem)
        return object.text
    }

    /// `missing`, `stale`, `cached`, `skipped` or `failed`.
    public var statusWord: String {
        if let error { return error.isSkip ? "skipped" : "failed" }
        return (status ?? .missing).name
    }
}

extension PlanSummary {
    /// The counts as one JSON object, without a line end.
    public var json: String {
        var object = JSONObject()
        object.set("entries", entries)
        object.set("urls", urls)
        object.set("cached", cached)
        object.set("stale", stale)
        object.set("missing", missing)
        object.set("skipped", skipped)
        object.set("failed", failed)
        return object.text
    }
}

extension CacheStatus {
    /// The status as one JSON object, without a line end.
    public var json: String {
        var object = JSONObject()
        object.set("path", path.sanitizedForTerminal)
        object.set("objects", totals.objects)
        object.set("bytes", totals.bytes)
        object.set("resources", totals.resources)
        object.set("fresh", totals.freshResources)
        object.set("stale", totals.resources - totals.freshResources)
        object.set("disk_bytes", diskBytes)
        object.set("index_bytes", indexBytes)
        object.set("temporaries", temporaries)
        object.set("oldest", totals.oldest?.timeIntervalSince1970)
        object.set("newest", totals.newest?.timeIntervalSince1970)
        return object.text
    }
}

extension VerifyReport {
    /// The report as one JSON object, without a line end.
    public var json: String {
        var object = JSONObject()
        object.set("clean", isClean)
        object.set("objects", objects)
        object.set("bytes", bytes)
        object.set("whole", whole)
        object.set("resources", resources)
        for kind in Finding.Kind.allCases { object.set(kind.rawValue, count(kind)) }
        object.set("temporaries", temporaries)
        object.set("seconds", seconds)
        object.set(
            "findings",
            findings.map { finding in
                var item = JSONObject()
                item.set("kind", finding.kind.rawValue)
                item.set("subject", finding.subject.sanitizedForTerminal)
                item.set("message", finding.message.sanitizedForTerminal)
                item.set("urls", finding.urls.map(\.maskingCredentials.sanitizedForTerminal))
                return item
            })
        return object.text
    }
}

extension Resource {
    /// The resource's line in `list --json`, without a line end.
    public var json: String {
        var item = JSONObject()
        item.set("url", url.maskingCredentials.sanitizedForTerminal)
        item.set("key", key == url ? nil : key.maskingCredentials.sanitizedForTerminal)
        item.set("digest", object.digest.description)
        item.set("bytes", object.size)
        item.set("media_type", object.mediaType)
        item.set("width", object.width)
        item.set("height", object.height)
        item.set("path", object.path)
        item.set("received", receivedAt.timeIntervalSince1970)
        item.set("fresh_until", freshUntil.timeIntervalSince1970)
        return item.text
    }
}
