import ArgumentParser
import LarderKit

/// The command that a command line names first, which may be misspelled.
enum CommandName {
    /// - Parameters:
    ///   - arguments: of the whole command line; `help` may come before the name.
    ///   - known: the names that there are.
    /// - Throws: `ValidationError` if it is none of them, with the one that may be meant.
    static func check(_ arguments: some Sequence<String>, among known: [String]) throws {
        guard let name = arguments.first(where: { $0 != "help" }), !name.hasPrefix("-"),
            !known.contains(name)
        else { return }
        throw ValidationError(
            "Unknown command \(name.quoted(limit: 40))\(NearestName.hint(for: name, among: known))")
    }
}
