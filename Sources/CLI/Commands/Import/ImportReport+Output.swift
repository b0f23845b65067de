import LarderCore
import LarderExport

extension ImportReport {
    package func text(_ paint: Paint = .none) -> String {
        var lines = problems.lines(paint)
        let parts =
            ["\(imported) imported", "\(present) present", "\(missing) missing"] + problems.parts
        lines.append(
            "\(icons.of("icon")): \(parts.joined(separator: ", ")); read "
                + "\(ByteText.describe(bytes)) (\(DurationText.describe(seconds)))")
        if imported == 0, present == 0, missing > 0, failed == 0 {
            lines.append(
                "\(directory.sanitizedForTerminal): no file found for any icon; check --layout and "
                    + "--kingfisher-version")
        }
        if isInterrupted { lines.append("interrupted: finished work is kept") }
        return lines.joined(separator: "\n")
    }

    package var complaint: String? {
        isInterrupted ? "interrupted: finished work is kept" : problems.complaint
    }

    package var json: String {
        var object = JSONObject()
        object.set("layout", layout.rawValue)
        object.set("directory", exactly: directory)
        object.set([
            "icons": icons, "imported": imported, "present": present, "missing": missing,
            "skipped": skipped, "failed": failed, "bytes": bytes,
        ])
        object.set(problems)
        object.set("interrupted", isInterrupted)
        object.set("seconds", seconds)
        return object.text
    }
}
