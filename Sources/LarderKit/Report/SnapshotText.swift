import LarderCache

extension SnapshotReport {
    /// The report for people: the counts, and a line for each object that is not in it.
    public var text: String {
        var lines = damaged.map { "\($0): is not whole, and was left out" }
        lines.append(
            "copied \(objects) objects, \(ByteText.describe(bytes)), \(resources) resources"
                + (evicted > 0 ? ", \(evicted) evicted meanwhile" : "")
                + (damaged.isEmpty ? "" : ", \(damaged.count) damaged")
                + " (\(DurationText.describe(seconds)))")
        return lines.joined(separator: "\n")
    }

    /// What is wrong, one line; for reports that nobody reads otherwise.
    public var complaint: String {
        "\(damaged.count) objects are not whole, and were left out; larder verify says more"
    }

    /// The counts so far, one line.
    public var progressText: String { "\(objects) objects  \(ByteText.describe(bytes))" }

    /// The report as one JSON object, without a line end.
    public var json: String {
        var object = JSONObject()
        object.set("objects", objects)
        object.set("bytes", bytes)
        object.set("resources", resources)
        object.set("evicted", evicted)
        object.set("damaged", damaged.map { "\($0)" })
        object.set("seconds", seconds)
        return object.text
    }
}
