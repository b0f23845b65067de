/// The values at the icon places of a plan's manifests, in the plan's database.
package struct PlannedValues {
    let plan: Plan

    /// Calls `body` with each value in document order: the manifest's name as given by the caller,
    /// the entry's position from 1, the name of the value's kind, and the text as written.
    /// Credentials are masked. The text is untrusted.
    package func forEach(
        _ body: (_ manifest: String, _ position: Int64, _ kind: String, _ text: String) -> Void
    ) throws {
        try plan.database.unsafeRead { db in
            try db.prepared("SELECT manifest, position, kind, text FROM icon_values ORDER BY id")
                .forEach { row in
                    body(
                        plan.manifests[Int(row.integer())], row.integer(), try row.requireText(),
                        try row.requireText())
                }
        }
    }
}
