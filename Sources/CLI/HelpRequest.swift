import ArgumentParser
import Foundation

/// A command line that asks for help: `help`, a command with `--help` or `--help-all`, or a group
/// of commands alone.
struct HelpRequest {
    private let command: NamedCommand

    init?(_ arguments: [String]) {
        let words = arguments.prefix { $0 != "--" }
        let isHelpCommand = words.first == "help"
        let names = words.dropFirst(isHelpCommand ? 1 : 0).filter { !$0.hasPrefix("-") }
        let (command, rest) = NamedCommand.program.find(names)
        guard
            isHelpCommand || words.contains(where: ["-h", "--help", "--help-all"].contains)
                || command.isGroup && arguments == names
        else { return nil }
        if command.isGroup, !rest.isEmpty { return nil }
        self.command = command
    }

    var text: String {
        let width = Terminal.textWidth(of: STDOUT_FILENO)
        let type = command.type
        // The argument parser keeps 26 columns for the names of options.
        var text = Larder.helpMessage(for: type, columns: max(width, 40))
            // Without a list of the usual options.
            .replacing(
                Larder.usageString(for: type),
                with: Larder.usageString(for: type, includeHidden: true))
        while text.hasSuffix("\n") { text.removeLast() }
        if Larder.helpMessage(for: type) != Larder.helpMessage(for: type, includeHidden: true) {
            text += "\n\nMore options: \(command.line) --help-all"
        }
        return text.wrapped(to: width, hanging: 2)
    }
}
