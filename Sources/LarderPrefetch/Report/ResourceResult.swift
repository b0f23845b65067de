import LarderCache
import LarderCore

struct ResourceResult: Sendable {
    struct Success: Sendable {
        let digest: Digest
        /// Nil if the size was not looked up.
        let size: Int64?
        let attributes: ObjectAttributes
        /// `fetched`, `revalidated`, `unstored`, `pulled` or `shared`.
        let outcome: EntryResult.Outcome
    }

    struct Waiting: Sendable {
        let entries: Int
        let icons: Int

        init?(for resource: PlannedResource) {
            guard !resource.hasExpectation else { return nil }
            (entries, icons) = (resource.entries, resource.icons)
        }
    }

    let id: Int64
    let result: Result<Success, ResourceFailure>
    /// Nil if an entry demands particular bytes.
    var waiting: Waiting?
    var attempts = 0
    var seconds = 0.0
}
