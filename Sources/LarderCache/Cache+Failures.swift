extension Cache {
    /// How resources failed when they were last asked for, in their order: nil of those that did
    /// not, or that have been fetched since.
    package func failures(_ keys: [String]) throws(CacheError) -> [RememberedFailure?] {
        try index?.failures(keys) ?? keys.map { _ in nil }
    }
}
