extension Plan {
    /// Calls `body` with each untrusted value in document order. Only credentials are masked.
    package func forEachValue(
        _ body: (_ manifest: String, _ position: Int64, _ kind: String, _ text: String) -> Void
    ) throws {
        // An entry that contains other entries was added to the table after them.
        let nested = summary.manifests.enumerated()
            .filter { $1.format != .binaryPlist && ($1.places?.entries.count ?? 0) > 1 }
            .map { "\($0.offset)" }.joined(separator: ",")
        let order = nested.isEmpty ? "" : "manifest, iif(manifest IN (\(nested)), start, 0), "
        let select = "SELECT manifest, position, kind, text FROM icon_values ORDER BY \(order)id"
        try read(select) { rows in
            try rows.forEach { row in
                body(
                    manifests[Int(row.integer())], row.integer(), try row.requireText(),
                    try row.requireText())
            }
        }
    }
}
