import LarderKit

/// Keeps a manifest of `ftp:` icons from being a complaint for each: one is made of each scheme, and the
/// summary has their number.
struct UnsupportedSchemes {
    private var messages: Set<String> = []

    /// Whether to complain of an entry that has failed.
    mutating func isNew(_ result: EntryResult) -> Bool {
        guard let problem = result.problem,
            problem.code == EntryError.Code.unsupportedScheme.rawValue
        else { return true }
        // A list of nothing but different schemes is not to fill the memory.
        return messages.count < 32 && messages.insert(problem.message).inserted
    }
}
