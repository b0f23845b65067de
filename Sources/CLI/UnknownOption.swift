import ArgumentParser
import LarderKit

/// An option that a command does not have.
///
/// The argument parser tells of one only after every value was checked, and until then takes the
/// option's value for a manifest.
struct UnknownOption: Error {
    private let command: any ParsableCommand.Type
    private let name: String
    private let hint: String

    /// Nil if the command has all of them.
    ///
    /// - Parameter words: those after the command's name.
    init?(in words: [String], of command: any ParsableCommand.Type) throws {
        let info = try CommandInfo(command)
        // Flags in one word, such as `-qv`, are left to the argument parser.
        guard let name = CommandLineState(info, words).unknown,
            name.hasPrefix("--") || name.utf8.count == 2
        else { return nil }
        self.command = command
        self.name = name
        hint =
            if command == PlanCommand.self, name == "--remote" || name.hasPrefix("--remote-") {
                ": plan asks no remote"
            } else {
                Self.suggestion(for: name, among: info.options.flatMap(\.spellings))
            }
    }

    private static func suggestion(for name: String, among known: [String]) -> String {
        let lead = "--"
        guard name.hasPrefix(lead) else { return "" }
        let long = known.filter { $0.hasPrefix(lead) }.map { String($0.dropFirst(lead.count)) }
        return NearestName.hint(
            for: String(name.dropFirst(lead.count)), among: long, lead: lead)
    }

    /// Nothing of the option's value, which may be a password.
    func message(of program: any ParsableCommand.Type) -> String {
        """
        Error: Unknown option \(name.quoted(limit: 40))\(hint)
        Usage: \(program.usageString(for: command))
          See '\(program._commandName) \(command._commandName) --help' for more information.
        """
    }
}
