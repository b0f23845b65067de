import Foundation

/// The terminal that messages go to.
enum Terminal {
    /// Whether standard error is one.
    static let isThere = isatty(STDERR_FILENO) == 1

    /// Whether it knows no control sequences, or nobody says which.
    static let isDumb = ["", "dumb"].contains(environment("TERM") ?? "")

    /// Whether the program may draw on it now. In the background, a shell has its prompt there.
    static var isInForeground: Bool {
        let foreground = tcgetpgrp(STDERR_FILENO)
        // Of a terminal that is not the session's, no group is known.
        return foreground <= 0 || foreground == getpgrp()
    }

    /// Its width now. What is not known is taken for 80.
    static var columns: Int { columns(of: STDERR_FILENO) ?? saidColumns ?? 80 }

    /// The width of the terminal behind a descriptor; nil if there is none, or it has none.
    static func columns(of descriptor: Int32) -> Int? {
        var size = winsize()
        guard ioctl(descriptor, UInt(TIOCGWINSZ), &size) == 0, size.ws_col > 0 else { return nil }
        return Int(size.ws_col)
    }

    /// What `$COLUMNS` says.
    static var saidColumns: Int? {
        environment("COLUMNS").flatMap { Int($0) }.flatMap { $0 > 0 ? min($0, 1000) : nil }
    }

    /// Whether text is to be coloured if nobody says so on the command line: https://no-color.org
    /// and https://bixense.com/clicolors.
    ///
    /// - Parameter isTerminal: whether it goes to one.
    static func wantsColor(_ isTerminal: Bool) -> Bool {
        func isSet(_ name: String) -> Bool { !(environment(name) ?? "").isEmpty }
        if isSet("NO_COLOR") { return false }
        if isSet("CLICOLOR_FORCE"), environment("CLICOLOR_FORCE") != "0" { return true }
        return isTerminal && !isDumb && environment("CLICOLOR") != "0"
    }

    /// A variable's text; nil if it is not set.
    static func environment(_ name: String) -> String? {
        ProcessInfo.processInfo.environment[name]
    }
}
