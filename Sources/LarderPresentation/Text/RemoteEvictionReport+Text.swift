import LarderKit

extension RemoteEvictionReport {
    /// The report for people, a few lines.
    ///
    /// - Parameter isPart: whether other workers have the rest of the remote.
    package func text(isPart: Bool) -> String {
        if objects == 0, references == 0, !isInterrupted {
            return location.textOfEmptyRemote(isPart: isPart)
        }
        let removed = isDryRun ? "would remove" : "removed"
        var lines = [
            "\(location.sanitizedForTerminal): \(objects.of("object")), "
                + "\(ByteText.describe(bytes)), \(references.of("reference"))",
            "\(removed) \((expired + replaced).of("reference")) "
                + "(\(expired) too old, \(replaced) replaced) and \(evictedObjects.of("object")), "
                + ByteText.describe(evictedBytes),
        ]
        if undone > 0 {
            lines.append(
                "\(removed) \(undone.of("reference")) to objects that are not there: "
                    + "the next prefetch fetches them again")
        }
        if isInterrupted { lines.append("interrupted: the next run continues") }
        return lines.joined(separator: "\n")
    }

    /// How far it is.
    package var progress: ProgressText {
        var text = ProgressText()
        text.add(objects.of("object"), rank: 0)
        text.add(references.of("reference"), rank: 1)
        text.add("\(evictedObjects) removed", rank: 2)
        return text
    }
}
