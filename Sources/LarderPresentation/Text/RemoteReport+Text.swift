import LarderKit

extension RemoteReport {
    /// The summary for people, a few lines.
    func lines(_ paint: Paint) -> [String] {
        var parts = ["pulled \(pulled) (\(ByteText.describe(pulledBytes)))"]
        parts.append("pushed \(pushed) (\(ByteText.describe(pushedBytes)))")
        if unpushed > 0 { parts.append(paint.failed("not pushed \(unpushed)")) }
        if personal > 0 { parts.append("not to be shared \(personal)") }
        var lines = ["\(location.sanitizedForTerminal): " + parts.joined(separator: ", ")]
        for (reason, count) in faults.sorted(by: { $0.key < $1.key }) {
            lines.append("  \(paint.failed(reason)): \(count)")
        }
        if let firstFault { lines.append("  the first: \(firstFault.sanitizedForTerminal)") }
        if let failure {
            lines.append(
                paint.failed("remote given up")
                    + ": \(failure.sanitizedForTerminal); the next run continues")
        }
        return lines
    }
}
