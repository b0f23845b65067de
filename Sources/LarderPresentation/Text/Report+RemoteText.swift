import LarderKit

extension Report {
    /// The summary of what was stored in a remote, a few lines.
    package func pushText(_ paint: Paint = .none) -> String {
        guard let remote else { return text(paint) }
        var parts = remote.pushedTexts(paint)
        if count(.failed) > 0 { parts.append(paint.failed("failed \(count(.failed))")) }
        return transferText(parts, remote.faultLines(paint) + remote.endLines(paint), paint)
    }

    /// The summary of what was taken from a remote, a few lines.
    package func pullText(_ paint: Paint = .none) -> String {
        guard let remote else { return text(paint) }
        var parts = [remote.pulledText]
        if count(.cached) > 0 { parts.append("already cached \(count(.cached))") }
        if count(.fetched) > 0 { parts.append("from the manifest itself \(count(.fetched))") }
        if count(.failed) > 0 { parts.append(paint.failed("failed \(count(.failed))")) }
        // What cannot be used has failed, and is counted there.
        return transferText(parts, remote.endLines(paint), paint)
    }

    private func transferText(
        _ parts: [String], _ remoteLines: [String], _ paint: Paint
    ) -> String {
        guard let remote else { return "" }
        var parts = parts
        if count(.skipped) > 0 { parts.append("skipped \(count(.skipped))") }
        if count(.unfinished) > 0 { parts.append("unfinished \(count(.unfinished))") }
        let lines = [remote.line(parts) + ", in \(DurationText.describe(seconds))"]
        return (lines + failureLines([]) + remoteLines + endLines(paint)).joined(separator: "\n")
    }
}
