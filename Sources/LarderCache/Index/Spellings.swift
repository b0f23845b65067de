import GRDB
import LarderCore

/// A URL as a manifest spells it, and the key of its resource.
package struct Spelling: Sendable {
    package let text: String
    package let key: String

    package init(_ text: String, of key: String) {
        self.text = text
        self.key = key
    }
}

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

extension Cache {
    /// Returns the resource of a key, of a URL as the last manifest that was prefetched spells it,
    /// or of a URL in any spelling that is equal to it (`HTTPURL.key` of LarderCore); nil if it is
    /// not cached.
    public func resource(spelledAs text: String) throws(CacheError) -> Resource? {
        guard let index else { return nil }
        if let resource = try index.resource(text) { return resource }
        if let resource = try index.resource(spelledAs: text) { return resource }
        // The icon of a URL with credentials may be another's.
        guard let url = try? HTTPURL(text), url.credentials == nil else { return nil }
        let key = url.key
        return key.isSame(as: text) ? nil : try index.resource(key)
    }

    /// Records spellings of resources that are cached; others are passed over. Nothing is written
    /// if all are known.
    ///
    /// - Parameter spellings: at most ``ObjectUse/stepLimit``.
    package func record(_ spellings: [Spelling]) throws(CacheError) {
        precondition(spellings.count <= ObjectUse.stepLimit, "others would wait too long")
        let index = try requireWritable()
        let news = try index.lookUp { db in
            try spellings.filter { try !SpellingTable(db).has($0) }
        }
        guard !news.isEmpty else { return }
        try index.writeStep { db in
            for spelling in news { try SpellingTable(db).add(spelling) }
        }
    }
}
