import LarderManifest

/// The values at the icon places of a plan's manifests, in the plan's database.
package struct PlannedValues {
    private let plan: Plan

    init(_ plan: Plan) { self.plan = plan }

    /// Calls `body` with each value in document order. Credentials are masked.
    package func forEach(_ body: (PlannedValue) throws -> Void) throws {
        try plan.database.unsafeRead { db in
            try db.prepared("SELECT manifest, position, kind, text FROM icon_values ORDER BY id")
                .forEach { row in
                    try body(
                        PlannedValue(
                            manifest: plan.manifests[Int(row.integer())],
                            position: Int(row.integer()), kind: try row.requireText(),
                            text: try row.requireText()))
                }
        }
    }
}

/// A value at an icon place.
package struct PlannedValue: Sendable {
    /// The name of the manifest, as given by the caller.
    package let manifest: String
    /// The entry's position in the manifest, from 1.
    package let position: Int
    /// The name of an `IconValue.Kind`.
    package let kind: String
    /// The text as written. Untrusted text.
    package let text: String
}
