import LarderIcons

/// The icons that were asked for lately, by the target that asked: as many as a limit of bytes
/// allows.
///
/// Two tables: one of what was used lately, and one of what was used before it was half full. So a
/// look-up writes nothing as long as what it finds was used lately. (`MemoryCache` moves what it
/// finds each time, and has no place for the answer's head.)
struct HotIcons {
    /// What an icon takes beside its bytes and its target: its places in the tables, its head.
    private static let overhead = 768

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
            oldCost -= Self.cost(of: icon)
            insert(icon, for: key)
            return icon
        }
    }

    mutating func insert(_ icon: KnownIcon, for key: CacheKey) {
        let cost = Self.cost(of: icon)
        if let replaced = old.removeValue(forKey: key) { oldCost -= Self.cost(of: replaced) }
        if let replaced = young.updateValue(icon, forKey: key) {
            youngCost -= Self.cost(of: replaced)
        }
        youngCost += cost
        guard youngCost > limit / 2 else { return }
        (old, oldCost) = (young, youngCost)
        (young, youngCost) = ([:], 0)
    }

    mutating func remove(_ key: CacheKey) {
        if let icon = young.removeValue(forKey: key) { youngCost -= Self.cost(of: icon) }
        if let icon = old.removeValue(forKey: key) { oldCost -= Self.cost(of: icon) }
    }

    private static func cost(of icon: KnownIcon) -> Int {
        // Several targets may lead to one object, whose bytes each of them is charged for.
        (icon.body?.readableBytes ?? 0) + overhead
    }
}
