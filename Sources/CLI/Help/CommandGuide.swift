import ArgumentParser

/// What help and manual say of a command besides its options.
struct CommandGuide {
    /// One command line, and what it is for.
    struct Example {
        let purpose: String
        let line: String

        init(_ purpose: String, _ line: String) {
            self.purpose = purpose
            self.line = line
        }
    }

    /// The options of `--help`, in its order; the others are left to `--help-all`. Empty: all are
    /// shown.
    var usual: [String] = []
    var examples: [Example] = []
}

/// A command with a guide.
protocol GuidedCommand: ParsableCommand {
    static var guide: CommandGuide { get }
}
