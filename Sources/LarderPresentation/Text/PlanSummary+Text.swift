import LarderKit

extension PlanSummary {
    /// The counts for people, one line.
    package func text(_ paint: Paint = .none) -> String {
        var notes: [String] = []
        if insecure > 0 { notes.append("plain http \(insecure)") }
        if skipped > 0 { notes.append("skipped \(skipped)") }
        if failed > 0 { notes.append(paint.failed("failed \(failed)")) }
        if unsupported > 0 { notes.append("of which unsupported schemes \(unsupported)") }
        if otherShards > 0 { notes.append("left to other shards \(otherShards)") }
        var counts = [
            "cached \(cached)", stale > 0 ? paint.stale("stale \(stale)") : "stale 0",
            "missing \(missing)",
        ]
        if remembered > 0 { counts.append("not asked for again so soon \(remembered)") }
        if leftAlone > 0 { counts.append("left alone \(leftAlone)") }
        let several = icons > entries ? ", \(icons.of("icon", "icons"))" : ""
        return entries.of("entry", "entries") + several
            + (notes.isEmpty ? "" : " (\(notes.joined(separator: ", ")))")
            + "; \(urls.of("URL")): " + counts.joined(separator: ", ")
    }

    /// Lines for people: each of the manifests that has entries and no icon, what looks like an
    /// icon and was not read, and each place that was named in vain.
    package func complaints(of sources: [ManifestSource]) -> [String] {
        zip(sources, manifests).flatMap { source, manifest in
            manifest.refusal(of: source).map { [$0.description] } ?? manifest.warnings(of: source)
        }
    }

    /// Lines for people: members of entries that are not used.
    package func notes(of sources: [ManifestSource]) -> [String] {
        zip(sources, manifests).flatMap { source, manifest in manifest.notes(of: source) }
    }

    /// A line for people if hosts are split that no icon is on.
    package var splitComplaint: String? {
        guard !unusedSplits.isEmpty else { return nil }
        let hosts = unusedSplits.sorted().joined(separator: ", ")
        return "--split-host: no icon of the manifests is on \(hosts)"
    }

    /// A line for people for each scheme that is not fetched, with the number of its icons.
    package var unsupportedText: [String] {
        unsupportedSchemes.sorted { $0.key < $1.key }.map { scheme, count in
            "    unsupported-scheme \(scheme.quoted(limit: 20)): \(count)"
        }
    }
}
