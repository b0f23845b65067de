import LarderCache
import LarderCore

extension EvictionReport.Victim {
    package var text: String {
        var columns = [
            digest.description, "\(size)", reason.rawValue, DurationText.describe(age),
            first?.shownURL ?? "(no URL)",
        ]
        if resources > 1 { columns.append("and \(resources - 1) more") }
        return columns.joined(separator: "\t")
    }

    package var json: String {
        var object = JSONObject()
        object.set("digest", digest.description)
        object.set("bytes", size)
        object.set("reason", reason.rawValue)
        object.set("age", age)
        object.set("url", first?.shownURL)
        object.set(
            "key",
            first.flatMap { ResourceKey.isApart($0.key, from: $0.url) ? $0.key.shownAsURL : nil })
        object.set("urls", resources)
        return object.text
    }
}

extension EvictionReport {
    package func text(_ paint: Paint = .none) -> String {
        func describe(_ tally: ObjectTally) -> String {
            tally.count.of("object") + sizeClause(tally.bytes)
        }
        var lines = ["\(isDryRun ? "would evict" : "evicted") \(describe(total))"]
        for reason in Reason.allCases {
            if let tally = evicted[reason] { lines.append("  \(reason.text): \(describe(tally))") }
        }
        for hold in Hold.allCases {
            if let tally = held[hold] { lines.append("kept, \(hold.text): \(describe(tally))") }
        }
        for leftover in Leftover.allCases {
            guard let tally = swept[leftover], tally.count > 0 else { continue }
            let count = tally.count.of(leftover.text.one, leftover.text.several)
            let verb = isDryRun ? "would remove" : "removed"
            lines.append("\(verb) \(count)\(sizeClause(tally.bytes))")
        }
        if forgottenFailures > 0 {
            lines.append("removed \(forgottenFailures.of("old failure")) from the index")
        }
        let time = DurationText.describe(seconds)
        lines.append("\(describe(left)) \(isDryRun ? "would be left" : "left") (\(time))")
        if isInterrupted { lines.append("interrupted: the remaining objects are kept") }
        if let shortfall { lines.append(paint.failed(shortfall)) }
        return lines.joined(separator: "\n")
    }

    package var complaint: String? {
        isInterrupted ? "interrupted: evicted \(total.count.of("object"))" : shortfall
    }

    private var shortfall: String? {
        guard !missed.isEmpty, !isInterrupted else { return nil }
        let kept = held.values.reduce(0) { $0 + $1.count }
        return "limit not met: \(missed.map(\.text).joined(separator: ", "))"
            + (kept > 0 ? "; \(kept.of("object is", "objects are")) protected" : "")
            + (missed.contains(.free) ? "; to free more, remove other files from the disk" : "")
    }

    package var json: String {
        func tallies<Kind: CaseIterable & RawRepresentable<String> & Hashable>(
            _ tallies: [Kind: ObjectTally]
        ) -> JSONObject {
            var object = JSONObject()
            for kind in Kind.allCases {
                let tally = tallies[kind] ?? ObjectTally()
                var counts = JSONObject()
                counts.set(["count": tally.count, "bytes": tally.bytes])
                object.set(kind.rawValue, counts)
            }
            return object
        }
        var object = JSONObject()
        object.set("dry_run", isDryRun)
        object.set(["evicted_objects": total.count, "evicted_bytes": total.bytes])
        object.set("evicted", tallies(evicted))
        object.set("kept", tallies(held))
        object.set("swept", tallies(swept))
        object.set(["objects": left.count, "bytes": left.bytes])
        object.set("reached", missed.isEmpty)
        object.set("missed", missed.map(\.rawValue))
        object.set("seconds", seconds)
        object.set("interrupted", isInterrupted)
        object.set("error", failure?.json)
        object.set("forgotten_failures", forgottenFailures)
        return object.text
    }
}

extension EvictionReport.Reason {
    fileprivate var text: String {
        switch self {
        case .only: "not in a manifest of --only"
        case .age: "too old"
        case .size: "too many bytes"
        case .count: "too many objects"
        case .free: "too little free space"
        }
    }
}

extension EvictionReport.Hold {
    fileprivate var text: String {
        switch self {
        case .manifest: "in a manifest"
        case .pin: "pinned"
        case .run: "in use by another run"
        }
    }
}

extension EvictionReport.Leftover {
    fileprivate var text: (one: String, several: String) {
        switch self {
        case .orphans: ("object not in the index", "objects not in the index")
        case .runs: ("killed run", "killed runs")
        case .partials: ("partial download", "partial downloads")
        case .quarantined: ("quarantined file", "quarantined files")
        case .temporaries: ("file in tmp/", "files in tmp/")
        }
    }
}
