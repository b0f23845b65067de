/// A program in a race: shell commands, of which only `run` is timed.
struct Contender {
    let name: String
    /// Takes away what the run before has left.
    let prepare: String
    let run: String
    /// Fails where the run has not done all it had to: its time would be worth nothing.
    let check: String

    /// Nil where the line has not four fields with tabs between them.
    init?(line: String) {
        let fields = line.split(separator: "\t", omittingEmptySubsequences: false).map(String.init)
        guard fields.count == 4 else { return nil }
        (name, prepare, run, check) = (fields[0], fields[1], fields[2], fields[3])
    }
}
