import LarderKit

extension EntryResult {
    /// What is wrong with a failed entry, one line for people; nil for any other outcome.
    package func complaint(_ paint: Paint = .none) -> String? {
        guard outcome == .failed, let problem else { return nil }
        let label = name.isEmpty ? "" : " \(name.sanitizedForTerminal)"
        let place = url.map { " \($0.shownAsURL)" } ?? ""
        return "\(manifest.sanitizedForTerminal): entry \(position)\(label):\(place)"
            + " \(paint.failed(problem.code)): \(problem.message.sanitizedForTerminal)"
    }
}
