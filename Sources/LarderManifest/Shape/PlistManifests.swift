struct ManifestDocument {
    let window: ByteWindow
    let limits: ManifestLimits
    let recognition: ShapeRecognition

    func readXMLPlist(_ emit: @escaping (RawEntry) throws -> Void) throws {
        let cursor = try PlistCursor(window, limits: limits)
        guard try cursor.begin() else {
            throw cursor.error(.notAManifest, "the property list is empty")
        }
        guard cursor.kind() != .scalar else {
            throw cursor.error(
                .notAManifest,
                "the property list is a \(cursor.shownElement), neither array nor dictionary")
        }
        let line = cursor.line
        let walk = EntryWalk(cursor, recognition, limits: limits, emit)
        try walk.walk()
        try cursor.finish()
        guard try walk.finish() else {
            throw ManifestError(
                .notAManifest, source: cursor.source, at: line.map { .line($0) }, walk.refusal)
        }
    }

    /// Objects may be shared, so that a small file can name more values than any memory holds: an
    /// entry is bounded by what it unfolds to, and so is the sum of all.
    func readBinaryPlist(_ emit: @escaping (RawEntry) throws -> Void) throws {
        let name = window.input.name
        var cursor: BinaryPlistCursor?
        do {
            let root = try BinaryPlistCursor(window, limits: limits)
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
