import LarderKit

extension PlannedEntry {
    /// The entry's line for people: status, priority, URL and name, or what is wrong with it.
    package func text(_ paint: Paint = .none) -> String {
        let statusWord =
            switch statusWord {
            case "failed": paint.failed(statusWord)
            case "stale": paint.stale(statusWord)
            default: statusWord
            }
        let subject = "\(manifest.sanitizedForTerminal): entry \(position)"
        let label = name.isEmpty ? "" : "  \(name.sanitizedForTerminal)"
        if let error {
            let place = url.map { "  \($0.shownAsURL)" } ?? ""
            return
                "\(statusWord)  \(subject)\(label)\(place)  \(error.message.sanitizedForTerminal)"
        }
        let mark = isDuplicate ? " (duplicate)" : ""
        let past = lastFailure.map { " (\($0.text))" } ?? ""
        return
            "\(statusWord)\(mark)\(past)  \(priority)  \((url ?? "").shownAsURL)\(label)"
    }
}

extension PastFailure {
    /// `failed 3 times, last http-503 2 h 5 min ago`.
    var text: String {
        count == 1
            ? "failed once, \(code) \(age) ago" : "failed \(count) times, last \(code) \(age) ago"
    }
}
