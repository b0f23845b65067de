import LarderKit

extension RemoteReport {
    /// The summary of a prefetch for people, a few lines.
    func lines(_ paint: Paint) -> [String] {
        [line([pulledText] + pushedTexts(paint))] + faultLines(paint) + endLines(paint)
    }

    /// A line about the remote.
    func line(_ parts: [String]) -> String {
        "\(location.sanitizedForTerminal): " + parts.joined(separator: ", ")
    }

    var pulledText: String { "pulled \(pulled) (\(ByteText.describe(pulledBytes)))" }

    /// What was stored, and what was not.
    func pushedTexts(_ paint: Paint) -> [String] {
        var parts = ["pushed \(pushed) (\(ByteText.describe(pushedBytes)))"]
        if present > 0 { parts.append("already there \(present)") }
        if unpushed > 0 { parts.append(paint.failed("not pushed \(unpushed)")) }
        if personal > 0 { parts.append("not to be shared \(personal)") }
        return parts
    }

    /// What cannot be used.
    func faultLines(_ paint: Paint) -> [String] {
        faults.sorted { $0.key < $1.key }.map { "  \(paint.failed($0.key)): \($0.value)" }
            + (firstFault.map { ["  the first: \($0.sanitizedForTerminal)"] } ?? [])
    }

    /// Why nothing more was asked, if it came to that.
    func endLines(_ paint: Paint) -> [String] {
        guard let failure else { return [] }
        return [
            paint.failed("remote given up")
                + ": \(failure.sanitizedForTerminal); the next run continues"
        ]
    }
}
