#if !canImport(Nuke)
    import Foundation

    /// The protocol of Nuke 13, so that this example compiles without Nuke.
    protocol DataCaching: Sendable {
        func cachedData(for key: String) -> Data?
        func containsData(for key: String) -> Bool
        func storeData(_ data: Data, for key: String)
        func removeData(for key: String)
        func removeAll()
    }
#endif
