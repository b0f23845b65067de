import LarderCore
import LarderExport
import LarderManifest

extension LocalizeReport {
    func text(of manifest: String, _ paint: Paint = .none) -> String {
        var lines = problems.lines(paint)
        var parts = [
            (localized, "localized"), (unchanged, "unchanged"), (kinds.values.reduce(0, +), "left"),
        ].filter { $0.0 > 0 }.map { "\($0.0) \($0.1)" }
        parts += problems.failedParts
        let counts = parts.isEmpty ? "" : ": " + parts.joined(separator: ", ")
        let written =
            files > 0 ? "; wrote \(files.of("file")), \(ByteText.describe(bytes))" : ""
        lines.append(
            "\(icons.of("icon")) in \(manifest.shownAsURL)\(counts)\(written) "
                + "(\(DurationText.describe(seconds)))")
        lines += kinds.notes.map { "  left, \($0.kind): \($0.note)" }
        if problems.skipped > 0 {
            lines.append(problems.skipped.of("entry has no icon", "entries have no icon"))
        }
        lines.append(
            isInterrupted
                ? Self.interruption
                : remaining == 0
                    ? "no image URL remains"
                    : remaining.of("image URL remains", "image URLs remain"))
        return lines.joined(separator: "\n")
    }

    private static let interruption = "interrupted: the output was not written"

    var complaint: String? { isInterrupted ? Self.interruption : problems.complaint }

    /// Prints one replacement at a time, because there can be a million.
    func printJSON(manifest: String, output: String, _ edits: CatalogueEdits) throws {
        var object = JSONObject()
        object.set("manifest", exactly: manifest.shownAsURL)
        object.set("format", format.rawValue)
        object.set("output", exactly: output)
        object.set([
            "icons": icons, "localized": localized, "unchanged": unchanged,
            "placeholders": problems.placeholders, "skipped": problems.skipped,
            "failed": problems.failed, "files": files, "bytes": bytes, "remaining": remaining,
            "kinds": kinds,
        ])
        object.set(problems)
        object.set(["interrupted": isInterrupted, "seconds": seconds])
        Console.add(String(object.text.dropLast()) + ",\"values\":{")
        var isFirst = true
        try edits.forEachIcon { written, new in
            var pair = JSONObject()
            pair.set(exactly: written.maskingSecretsInQuery, new)
            Console.add((isFirst ? "" : ",") + pair.text.dropFirst().dropLast())
            isFirst = false
        }
        Console.add("}}\n")
    }
}
