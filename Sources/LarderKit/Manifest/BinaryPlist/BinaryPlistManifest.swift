/// A manifest in a binary property list.
///
/// Objects may be shared, so that a small file can name more values than any memory holds: an
/// entry is bounded by what it unfolds to, and so is the sum of all.
struct BinaryPlistManifest {
    private let name: String
    private let limits: ManifestLimits
    private let bytes: BinaryPlistBytes

    init(_ window: ByteWindow, limits: ManifestLimits) throws {
        name = window.input.name
        self.limits = limits
        bytes = try BinaryPlistBytes(window, limits: limits)
    }

    func read(_ emit: (RawEntry) throws -> Void) throws {
        var position: Int?
        do {
            let plist = try BinaryPlist(bytes)
            let elements = BinaryPlistElementReader(plist: plist, limits: limits)
            var unfolded = 0
            // A sparse file may claim a size that would overflow.
            let limit = 100 * min(bytes.count, 1 << 40) + 64 << 20
            let entries = try entries(elements)
            for index in 0..<entries.count {
                position = index + 1
                let (content, size) = try elements.value(plist.reference(index, of: entries))
                try emit(RawEntry(line: nil, content: content))
                unfolded += size
                guard unfolded <= limit else {
                    throw ManifestError(
                        .tooLarge, source: name, at: .entry(index + 1),
                        "shared objects unfold to more than \(limit) bytes")
                }
            }
        } catch let damage as BinaryPlist.Damage {
            throw ManifestError(
                .malformed, source: name, at: position.map { .entry($0) }, damage.reason)
        }
    }

    /// The array of entries: the root, or its `apps`.
    private func entries(
        _ elements: BinaryPlistElementReader
    ) throws -> BinaryPlist.References {
        let plist = elements.plist
        switch try plist.object(plist.root) {
        case .array(let entries): return entries
        case .dictionary(let keys, let values):
            var apps: Int?
            for index in 0..<keys.count
            where try elements.isKey("apps", plist.reference(index, of: keys)) {
                apps = try plist.reference(index, of: values)
            }
            guard let apps else {
                throw ManifestError(
                    .notAManifest, source: name, "a dictionary without an array 'apps'")
            }
            guard case .array(let entries) = try plist.object(apps) else {
                throw ManifestError(.notAManifest, source: name, "'apps' is not an array")
            }
            return entries
        case .scalar, .string:
            throw ManifestError(
                .notAManifest, source: name,
                "the property list is neither an array nor a dictionary")
        }
    }
}
