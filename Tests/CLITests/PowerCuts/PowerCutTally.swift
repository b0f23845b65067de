/// Counts of power cuts, and of the checks after them.
struct PowerCutTally: CustomStringConvertible {
    var cuts = 0
    /// The number of cuts by command.
    var commands: [PowerCutScene.Command: Int] = [:]
    /// Cuts after the command had ended.
    var late = 0
    /// Prefetches cut inside a commit: objects had their names, but no rows yet.
    var insideCommits = 0
    /// Prefetches that had committed some entries, but not all.
    var betweenCommits = 0
    /// URLs that a report listed as stored, or that were stored before. All of them were found.
    var acknowledged = 0
    /// Rows that were found with the right bytes.
    var rows = 0
    /// Cuts that broke a promise. They are not counted elsewhere.
    var failures: [String] = []

    var description: String {
        let each = commands.sorted { $0.key.rawValue < $1.key.rawValue }
            .map { "\($0.value) of \($0.key)" }.joined(separator: ", ")
        return """
            \(cuts) cuts (\(each)), \(late) of them after the command's end; \
            \(insideCommits) inside a commit, \(betweenCommits) between commits; \
            \(acknowledged) acknowledged URLs were checked and \(rows) rows; \
            \(failures.count) broke a promise
            """
    }
}
