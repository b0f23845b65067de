/// Builds the values of a binary property list, each within the limits of an entry.
struct BinaryPlistElementReader {
    let plist: BinaryPlist
    let limits: ManifestLimits

    /// The object's value, and the bytes it unfolds to.
    func value(_ reference: Int) throws -> (Result<ManifestValue, EntryError>, size: Int) {
        var size = 0
        do {
            return (.success(try value(reference, depth: 1, size: &size)), size)
        } catch let error as EntryError {
            return (.failure(error), size)
        }
    }

    /// The object as a key, which may be as large as an entry, and its size.
    func key(_ reference: Int) throws -> (Result<String, EntryError>, size: Int) {
        var size = 0
        do {
            return (.success(try key(reference, size: &size)), size)
        } catch let error as EntryError {
            return (.failure(error), size)
        }
    }

    private func value(
        _ reference: Int, depth: Int, size: inout Int
    ) throws -> ManifestValue {
        switch try plist.object(reference) {
        case .scalar(let value, let bytes):
            try charge(bytes, &size)
            return value
        case .string(let offset, let bytes, let isUTF16):
            try charge(bytes, &size)
            return .string(try plist.text(at: offset, size: bytes, isUTF16: isUTF16))
        case .array(let references):
            try enter(depth, references, &size)
            return .array(
                try (0..<references.count).map {
                    try value(plist.reference($0, of: references), depth: depth + 1, size: &size)
                })
        case .dictionary(let keys, let values):
            try enter(depth, keys, &size)
            return .dictionary(
                try (0..<keys.count).map { index in
                    let key = try key(plist.reference(index, of: keys), size: &size)
                    let value = try value(
                        plist.reference(index, of: values), depth: depth + 1, size: &size)
                    return .init(key: key, value: value)
                })
        }
    }

    private func key(_ reference: Int, size: inout Int) throws -> String {
        let (offset, bytes, isUTF16) = try string(reference)
        try charge(bytes, &size)
        return try plist.text(at: offset, size: bytes, isUTF16: isUTF16)
    }

    /// Where the text of a key is.
    private func string(_ reference: Int) throws -> (offset: Int, size: Int, isUTF16: Bool) {
        guard case .string(let offset, let size, let isUTF16) = try plist.object(reference) else {
            throw BinaryPlist.Damage(reason: "a dictionary has a key that is not a string")
        }
        return (offset, size, isUTF16)
    }

    private func enter(
        _ depth: Int, _ references: BinaryPlist.References, _ size: inout Int
    ) throws {
        guard depth <= limits.maximumDepth else { throw EntryError.tooDeep(limits) }
        // Before anything is built: the count alone may exceed the limit.
        try charge(8 * references.count, &size)
    }

    /// Adds to what the entry unfolds to.
    private func charge(_ bytes: Int, _ size: inout Int) throws {
        size += bytes
        guard size <= limits.maximumEntrySize else { throw EntryError.tooLarge(limits) }
    }
}
