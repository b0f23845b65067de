import LarderCache
import LarderKit

extension RecoveryReport {
    /// The report for people, one line.
    package var text: String {
        guard !isInterrupted else { return "interrupted: the index is as it was" }
        let origin =
            switch source {
            case .index: "from the index itself"
            case .snapshot: "from the last snapshot"
            case .nothing: "there was nothing to restore URLs from"
            }
        var parts = ["index rebuilt: \(objects.of("object")), \(resources.of("URL")) (\(origin))"]
        if damaged > 0 { parts.append("\(noWholeObjects): see larder verify") }
        if let setAside { parts.append("the damaged index is kept as \(setAside)") }
        return parts.joined(separator: "; ")
    }

    private var noWholeObjects: String {
        damaged == 1 ? "1 file is not a whole object" : "\(damaged) files are not whole objects"
    }

    /// What is wrong, one line for people; nil if nothing is.
    package var complaint: String? {
        if isInterrupted { return text }
        guard damaged > 0 else { return nil }
        return "\(noWholeObjects); larder verify says more"
    }
}
