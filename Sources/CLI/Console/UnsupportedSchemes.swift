import LarderKit

/// Keeps a manifest of `ftp:` icons from being a complaint for each: one is made of each scheme,
/// and the summary has their number.
struct UnsupportedSchemes {
    private var schemes: Set<String> = []

    /// Whether to complain of what is wrong with an entry.
    mutating func isNew(_ code: String?, _ message: String?) -> Bool {
        guard let message, code == EntryError.Code.unsupportedScheme.rawValue else { return true }
        // Of each line the same: "line 7: icon has the scheme …".
        let scheme = message.drop { $0 != "'" }
        // A list of nothing but different schemes is not to fill the memory.
        return schemes.count < 32 && schemes.insert(String(scheme)).inserted
    }
}
