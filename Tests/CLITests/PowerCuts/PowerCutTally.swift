/// Where power cuts fell, and what was examined after them.
struct PowerCutTally: CustomStringConvertible {
    var cuts = 0
    /// By the command that was under way.
    var commands: [PowerCutScene.Command: Int] = [:]
    /// The command had ended.
    var late = 0
    /// Objects had their names and no rows yet.
    var insideCommits = 0
    /// Prefetches that had committed some and not all.
    var betweenCommits = 0
    /// URLs that a report had called stored, or that were stored before: all were there.
    var acknowledged = 0
    /// Rows that were there, with the right bytes.
    var rows = 0
    /// Cuts that broke a promise; they are counted nowhere else.
    var failures: [String] = []

    var description: String {
        let each = commands.sorted { $0.key.rawValue < $1.key.rawValue }
            .map { "\($0.value) of \($0.key)" }.joined(separator: ", ")
        return """
            \(cuts) cuts (\(each)), \(late) of them after its end; \(insideCommits) inside a commit, \
            \(betweenCommits) between commits; \(acknowledged) acknowledged URLs were checked and \
            \(rows) rows; \(failures.count) broke a promise
            """
    }
}
