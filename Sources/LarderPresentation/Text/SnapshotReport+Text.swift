import LarderCache
import LarderKit

extension SnapshotReport {
    /// The report for people: the counts, and a line for each object that is not in it.
    package var text: String {
        var lines =
            damaged.map { "\($0): is not whole, and was left out" }
            + unreadable.map { "\($0): could not be read, and was left out" }
        lines.append(
            "copied \(objects) objects, \(ByteText.describe(bytes)), \(resources) resources"
                + (evicted > 0 ? ", \(evicted) evicted meanwhile" : "")
                + (damaged.isEmpty ? "" : ", \(damaged.count) damaged")
                + (unreadable.isEmpty ? "" : ", \(unreadable.count) unreadable")
                + " (\(DurationText.describe(seconds)))")
        return lines.joined(separator: "\n")
    }

    /// What is wrong, one line; for reports that nobody reads otherwise.
    package var complaint: String {
        let kinds = [(damaged.count, "not whole"), (unreadable.count, "unreadable")]
        let found = kinds.filter { $0.0 > 0 }.map { "\($0.0) \($0.1)" }.joined(separator: ", ")
        return "\(found), left out of the copy; larder verify says more"
    }
}
