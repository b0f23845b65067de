import LarderIcons

/// The icons that were asked for lately, by the target that asked: as many as a limit of bytes
/// allows.
///
/// Two tables: one of what was used lately, and one of what was used before it was half full. So a
/// look-up writes nothing as long as what it finds was used lately. (`MemoryCache` moves what it
/// finds each time, and has no place for the answer's head.)
struct HotIcons {
    private let limit: Int
    private var young: [CacheKey: KnownIcon] = [:]
    private var old: [CacheKey: KnownIcon] = [:]
    private var youngCost = 0
    private var oldCost = 0

    init(limit: Int) { self.limit = limit }

    /// What all of them take, in bytes.
    var cost: Int { youngCost + oldCost }
    var count: Int { young.count + old.count }

    subscript(key: CacheKey) -> KnownIcon? {
        mutating get {
            if let icon = young[key] { return icon }
            guard let icon = old.removeValue(forKey: key) else { return nil }
            oldCost -= icon.cost
            insert(icon, for: key)
            return icon
        }
    }

    /// Keeps an icon as one that was used lately.
    ///
    /// - Returns: those that are kept no longer. To free them takes milliseconds: not with a lock.
    @discardableResult
    mutating func insert(_ icon: KnownIcon, for key: CacheKey) -> [CacheKey: KnownIcon] {
        let cost = icon.cost
        if let replaced = old.removeValue(forKey: key) { oldCost -= replaced.cost }
        if let replaced = young.updateValue(icon, forKey: key) {
            youngCost -= replaced.cost
        }
        youngCost += cost
        guard youngCost > limit / 2 else { return [:] }
        let dropped = old
        (old, oldCost) = (young, youngCost)
        (young, youngCost) = ([:], 0)
        return dropped
    }

    mutating func remove(_ key: CacheKey) {
        if let icon = young.removeValue(forKey: key) { youngCost -= icon.cost }
        if let icon = old.removeValue(forKey: key) { oldCost -= icon.cost }
    }
}
