/// Why a file cannot be read as a trace of a scroll.
package struct ScrollTraceError: Error, Equatable, CustomStringConvertible {
    /// Whether there is no file to read, or none that may be.
    package let isMissing: Bool
    /// The file's name, as given.
    package let source: String
    /// The first line is 1; nil if the whole is wrong.
    package let line: Int?
    package let reason: String

    init(_ source: String, line: Int? = nil, isMissing: Bool = false, _ reason: String) {
        self.isMissing = isMissing
        self.source = source
        self.line = line
        self.reason = reason
    }

    /// File, line and reason, as in `fling.jsonl: line 17: 'first' is negative`; safe to print.
    package var description: String {
        [source.sanitizedForTerminal, line.map { "line \($0)" }, reason].compactMap(\.self)
            .joined(separator: ": ")
    }
}
