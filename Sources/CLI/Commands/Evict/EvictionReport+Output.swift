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

    package var json: JSONObject {
        let key = first.flatMap {
            ResourceKey.isApart($0.key, from: $0.url) ? $0.key.shownAsURL : nil
        }
        return [
            "digest": digest.description, "bytes": size, "reason": reason.rawValue, "age": age,
            "url": first?.shownURL, "key": key, "urls": resources,
        ]
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

    package var json: JSONObject {
        func tallies<Kind: CaseIterable & RawRepresentable<String> & Hashable>(
            _ tallies: [Kind: ObjectTally]
        ) -> JSONObject {
            var object = JSONObject()
            for kind in Kind.allCases {
                let tally = tallies[kind] ?? ObjectTally()
                let counts: JSONObject = ["count": tally.count, "bytes": tally.bytes]
                object.set(kind.rawValue, counts)
            }
            return object
        }
        return [
            "dry_run": isDryRun, "evicted_objects": total.count, "evicted_bytes": total.bytes,
            "evicted": tallies(evicted), "kept": tallies(held), "swept": tallies(swept),
            "objects": left.count, "bytes": left.bytes, "reached": missed.isEmpty,
            "missed": missed.map(\.rawValue), "seconds": seconds, "interrupted": isInterrupted,
            "error": failure?.json, "forgotten_failures": forgottenFailures,
        ]
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
