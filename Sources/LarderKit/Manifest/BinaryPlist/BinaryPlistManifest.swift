/// A manifest in a binary property list.
///
/// Objects may be shared, so that a small file can name more values than any memory holds: an
/// entry is bounded by what it unfolds to, and so is the sum of all.
struct BinaryPlistManifest {
    let window: ByteWindow
    let limits: ManifestLimits
    let recognition: ShapeRecognition

    func read(_ emit: @escaping (RawEntry) throws -> Void) throws {
        let name = window.input.name
        let bytes = try BinaryPlistBytes(window, limits: limits)
        var cursor: BinaryPlistCursor?
        do {
            let looker = BinaryPlistCursor(try BinaryPlist(bytes), limits: limits, name: name)
            let root = BinaryPlistCursor(
                try BinaryPlist(bytes), limits: limits, name: name, looker: looker)
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
