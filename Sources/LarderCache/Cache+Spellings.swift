import LarderURL

extension Cache {
    /// Returns the resource of a key, of a URL as the last manifest that was prefetched spells it,
    /// or of a URL in any spelling that is equal to it (``HTTPURL/key``); nil if it is not cached.
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
