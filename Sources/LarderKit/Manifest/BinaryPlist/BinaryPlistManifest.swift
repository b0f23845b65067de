/// A manifest in a binary property list.
///
/// Objects may be shared, so that a small file can name more values than any memory holds: an
/// entry is bounded by what it unfolds to, and so is the sum of all.
struct BinaryPlistManifest {
    private let name: String
    private let limits: ManifestLimits
    private let recognition: ShapeRecognition
    private let bytes: BinaryPlistBytes

    init(_ window: ByteWindow, limits: ManifestLimits, recognition: ShapeRecognition) throws {
        name = window.input.name
        self.limits = limits
        self.recognition = recognition
        bytes = try BinaryPlistBytes(window, limits: limits)
    }

    func read(_ emit: @escaping (RawEntry) throws -> Void) throws {
        var cursor: BinaryPlistCursor?
        do {
            let plist = try BinaryPlist(bytes)
            // A sparse file may claim a size that would overflow.
            let limit = 100 * min(bytes.count, 1 << 40) + 16 << 20
            let root = BinaryPlistCursor(
                BinaryPlistElementReader(plist: plist, limits: limits), limit: limit, name: name)
            cursor = root
            guard try root.kind() != .scalar else {
                throw ManifestError(
                    .notAManifest, source: name,
                    "the property list is neither an array nor a dictionary")
            }
            var emitted = 0
            let walk = EntryWalk(root, recognition, limits: limits) { entry in
                emitted += 1
                root.position = emitted + 1
                try emit(entry)
            }
            try walk.walk()
            guard try walk.finish() else {
                throw ManifestError(.notAManifest, source: name, walk.refusal)
            }
        } catch let damage as BinaryPlist.Damage {
            throw ManifestError(
                damage.code, source: name, at: cursor?.position.map { .entry($0) }, damage.reason)
        }
    }
}
