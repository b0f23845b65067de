import GRDB
import LarderCore

package struct Spelling: Sendable {
    package let text: String
    package let key: String

    package init(_ text: String, of key: String) {
        self.text = text
        self.key = key
    }
}

extension CacheIndex {
    /// Records spellings of resources that exist. Nothing is written if all are known.
    func record(_ spellings: [Spelling]) throws(CacheError) {
        let news = try lookUp { db in
            let differs = try db.prepared(
                """
                SELECT 1 FROM resources r LEFT JOIN spellings s ON s.text = ? WHERE r.key = ?
                    AND s.resource IS NOT r.id
                """)
            return try spellings.filter { try differs.firstInteger($0.text, $0.key) != nil }
        }
        guard !news.isEmpty else { return }
        try writeStep { db in
            let insert = try db.prepared(
                """
                INSERT INTO spellings (text, resource) SELECT ?, id FROM resources WHERE key = ?
                ON CONFLICT (text) DO UPDATE SET resource = excluded.resource
                """)
            for spelling in news { try insert.run(spelling.text, spelling.key) }
        }
    }
}
