import LarderCore
import LarderExport
import LarderManifest

extension LocalizeReport {
    func text(of manifest: String, _ paint: Paint = .none) -> String {
        var lines = problems.lines(paint)
        var parts = [
            (localized, "localized"), (unchanged, "unchanged"),
            (placeholders, placeholders == 1 ? "placeholder" : "placeholders"),
        ].filter { $0.0 > 0 }.map { "\($0.0) \($0.1)" }
        parts += keptKinds.map { "\($0.1) \($0.0.rawValue)" }
        parts += problems.parts
        let counts = parts.isEmpty ? "" : ": " + parts.joined(separator: ", ")
        let written =
            files > 0 ? "; wrote \(files.of("file")), \(ByteText.describe(bytes))" : ""
        lines.append(
            "\(icons.of("icon")) in \(manifest.shownAsURL)\(counts)\(written) "
                + "(\(DurationText.describe(seconds)))")
        if !isInterrupted {
            lines.append(
                remaining == 0
                    ? "no image URL remains"
                    : remaining.of("image URL remains", "image URLs remain"))
        }
        if isInterrupted { lines.append("interrupted: the output was not written") }
        return lines.joined(separator: "\n")
    }

    var complaint: String? {
        isInterrupted ? "interrupted: the output was not written" : problems.complaint
    }

    private var keptKinds: [(IconValue.Kind, Int)] {
        IconValue.Kind.allCases.compactMap { kind in kinds[kind].map { (kind, $0) } }
    }

    /// Prints one JSON object. The replacements are streamed, because there can be a million.
    func printJSON(manifest: String, output: String, _ edits: CatalogueEdits) throws {
        var object = JSONObject()
        object.set("manifest", exactly: manifest.shownAsURL)
        object.set("format", format.rawValue)
        object.set("output", exactly: output)
        object.set([
            "icons": icons, "localized": localized, "unchanged": unchanged,
            "placeholders": placeholders, "skipped": skipped, "failed": failed, "files": files,
            "bytes": bytes, "remaining": remaining,
        ])
        var kinds = JSONObject()
        for (kind, count) in keptKinds { kinds.set(kind.rawValue, count) }
        object.set("kinds", kinds)
        object.set(problems)
        object.set("interrupted", isInterrupted)
        object.set("seconds", seconds)
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
