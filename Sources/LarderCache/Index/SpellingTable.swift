import GRDB

/// Which resource a URL means that manifests do not spell as its key: an app looks its icons up by
/// the text that it has. For the length of one transaction.
struct SpellingTable {
    private let db: Database

    init(_ db: Database) { self.db = db }

    /// Whether it is recorded of that resource, or there is none.
    func has(_ spelling: Spelling) throws -> Bool {
        try PreparedStatement(
            db,
            """
            SELECT 1 FROM resources r LEFT JOIN spellings s ON s.text = ? WHERE r.key = ?
                AND s.resource IS NOT r.id
            """
        ).firstInteger(spelling.text, spelling.key) == nil
    }

    func add(_ spelling: Spelling) throws {
        try PreparedStatement(
            db,
            """
            INSERT INTO spellings (text, resource) SELECT ?, id FROM resources WHERE key = ?
            ON CONFLICT (text) DO UPDATE SET resource = excluded.resource
            """
        ).run(spelling.text, spelling.key)
    }
}
