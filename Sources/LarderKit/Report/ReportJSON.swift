import LarderCache

// The keys written here are a contract: docs/output.md. They only ever grow.

extension EntryResult {
    /// The entry's line in a report: one JSON object, without a line end.
    package var json: String {
        var object = JSONObject()
        object.set("manifest", manifest.sanitizedForTerminal)
        object.set("position", position)
        object.set("name", name.sanitizedForTerminal)
        object.set("url", url?.shownAsURL)
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
        object.set("icon_number", icon)
        return object.text
    }
}

extension Report {
    /// The summary as one JSON object, without a line end.
    package var json: String {
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
        object.set("error", failure?.json)
        object.set("icons", icons)
        return object.text
    }
}

extension CacheError {
    fileprivate var json: JSONObject {
        var error = JSONObject()
        error.set("code", code.rawValue)
        error.set("message", description.sanitizedForTerminal)
        return error
    }
}

extension PlannedEntry {
    /// The entry's line in `plan --json`, without a line end.
    package var json: String {
        var object = JSONObject()
        object.set("manifest", manifest.sanitizedForTerminal)
        object.set("position", position)
        object.set("name", name.sanitizedForTerminal)
        object.set("url", url?.shownAsURL)
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
        object.set("last_failure", lastFailure?.json)
        object.set("icon_number", icon)
        return object.text
    }

    /// `missing`, `stale`, `cached`, `skipped` or `failed`.
    package var statusWord: String {
        if let error { return error.isSkip ? "skipped" : "failed" }
        return (status ?? .missing).name
    }
}

extension PastFailure {
    fileprivate var json: JSONObject {
        var object = JSONObject()
        object.set("code", code)
        object.set("status", status)
        object.set("failed_at", failedAt.timeIntervalSince1970)
        object.set("count", count)
        return object
    }
}

extension PlanSummary {
    /// The counts as one JSON object, without a line end.
    package var json: String {
        var object = JSONObject()
        object.set("entries", entries)
        object.set("urls", urls)
        object.set("cached", cached)
        object.set("stale", stale)
        object.set("missing", missing)
        object.set("skipped", skipped)
        object.set("failed", failed)
        object.set("remembered", remembered)
        object.set("left_alone", leftAlone)
        object.set("icons", icons)
        object.set("insecure", insecure)
        object.set("unsupported", unsupported)
        return object.text
    }
}

extension CacheStatus {
    /// The status as one JSON object, without a line end.
    package var json: String {
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
        object.set("failures", totals.failures)
        object.set("pins", totals.pins)
        object.set("quarantined", quarantined)
        object.set("oldest_use", totals.oldestUse?.timeIntervalSince1970)
        object.set("newest_use", totals.newestUse?.timeIntervalSince1970)
        object.set("unreadable", unreadable)
        object.set("runs", runs.map(\.json))
        return object.text
    }
}

extension RunRecord {
    fileprivate var json: JSONObject {
        var object = JSONObject()
        object.set("command", command.rawValue)
        object.set("started", started.timeIntervalSince1970)
        object.set("ended", ended.timeIntervalSince1970)
        object.set("seconds", seconds)
        object.set("exit_status", exitStatus)
        object.set("version", version.sanitizedForTerminal)
        var counts = JSONObject()
        for count in Count.allCases {
            if let value = self.counts[count] { counts.set(count.rawValue, value) }
        }
        object.set("counts", counts)
        return object
    }
}

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
        let error = problem.map { problem in
            var error = JSONObject()
            error.set("code", problem.code)
            error.set("message", problem.message.sanitizedForTerminal)
            return error
        }
        object.set("error", error)
        return object
    }
}

extension Resource {
    /// The resource's line in `list --json`, without a line end.
    package var json: String {
        var item = JSONObject()
        item.set("url", shownURL)
        item.set("key", key == url ? nil : key.shownAsURL)
        item.set("digest", object.digest.description)
        item.set("bytes", object.size)
        item.set("media_type", object.mediaType)
        item.set("width", object.width)
        item.set("height", object.height)
        item.set("path", object.path)
        item.set("received", receivedAt.timeIntervalSince1970)
        item.set("fresh_until", freshUntil.timeIntervalSince1970)
        item.set("used", object.usedAt.timeIntervalSince1970)
        return item.text
    }
}

extension EvictionReport.Victim {
    /// The object's line in `evict --dry-run --json`, without a line end.
    package var json: String {
        var object = JSONObject()
        object.set("digest", digest.description)
        object.set("bytes", size)
        object.set("reason", reason.rawValue)
        return object.text
    }
}

extension EvictionReport {
    /// The report as one JSON object, without a line end.
    package var json: String {
        func tallies<Kind: CaseIterable & RawRepresentable<String> & Hashable>(
            _ tallies: [Kind: Tally]
        ) -> JSONObject {
            var object = JSONObject()
            for kind in Kind.allCases {
                let tally = tallies[kind] ?? Tally()
                var counts = JSONObject()
                counts.set("count", tally.count)
                counts.set("bytes", tally.bytes)
                object.set(kind.rawValue, counts)
            }
            return object
        }
        var object = JSONObject()
        object.set("dry_run", isDryRun)
        object.set("evicted_objects", total.count)
        object.set("evicted_bytes", total.bytes)
        object.set("evicted", tallies(evicted))
        object.set("kept", tallies(held))
        object.set("swept", tallies(swept))
        object.set("objects", left.count)
        object.set("bytes", left.bytes)
        object.set("reached", missed.isEmpty)
        object.set("missed", missed.map(\.rawValue))
        object.set("seconds", seconds)
        object.set("interrupted", isInterrupted)
        object.set("error", failure?.json)
        object.set("forgotten_failures", forgottenFailures)
        return object.text
    }
}
