import LarderCache
import LarderKit

extension EvictionReport.Victim {
    /// The object's line in `evict --dry-run --json`, without a line end.
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
    /// The report as one JSON object, without a line end.
    package var json: String {
        func tallies<Kind: CaseIterable & RawRepresentable<String> & Hashable>(
            _ tallies: [Kind: ObjectTally]
        ) -> JSONObject {
            var object = JSONObject()
            for kind in Kind.allCases {
                let tally = tallies[kind] ?? ObjectTally()
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
