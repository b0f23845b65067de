import LarderCache

/// What a remote's objects are called: those of icons as in a cache directory, and a reference for
/// each resource, whose name alone tells the digest.
package enum RemoteLayout {
    static let objects = "objects/sha256/"
    static let references = "refs/"

    /// The bytes with a digest.
    package static func object(_ digest: Digest) -> String {
        let hex = digest.hex
        return "\(objects)\(hex.prefix(2))/\(hex)"
    }

    /// The digest of an object's name; nil for anything else that lies there.
    static func digest(ofObject key: String) -> Digest? {
        guard key.utf8.count == objects.utf8.count + 3 + 64,
            let digest = Digest(hex: key.suffix(64)), object(digest) == key
        else { return nil }
        return digest
    }

    /// The objects whose digests begin with a byte.
    static func objects(beginningWith byte: UInt8) -> String { "\(objects)\(byte.hex)/" }

    /// The references of a part.
    static func references(ofPart part: UInt8) -> String { "\(references)\(part.hex)/" }

    /// The references of a resource.
    static func references(to name: ReferenceName) -> String {
        "\(references(ofPart: name.part))\(name.name.hex)/"
    }

    /// The reference of a resource to the object with a digest.
    package static func reference(_ name: ReferenceName, to digest: Digest) -> String {
        references(to: name) + digest.hex
    }

    /// Resource and digest of a reference's name; nil for anything else that lies there.
    static func reference(_ key: String) -> (name: ReferenceName, digest: Digest)? {
        // Each has its place.
        func text(_ start: Int, _ count: Int) -> String {
            String(decoding: key.utf8.dropFirst(start).prefix(count), as: UTF8.self)
        }
        guard key.utf8.count == 137, let part = UInt8(text(5, 2), radix: 16),
            let name = Digest(hex: text(8, 64)), let digest = Digest(hex: text(73, 64))
        else { return nil }
        let reference = ReferenceName(part: part, name: name)
        return Self.reference(reference, to: digest) == key ? (reference, digest) : nil
    }
}

extension UInt8 {
    /// Two digits in lower case.
    var hex: String { String(self >> 4, radix: 16) + String(self & 15, radix: 16) }
}
