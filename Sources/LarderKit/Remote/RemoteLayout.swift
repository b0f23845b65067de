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
        guard let hex = key.split(separator: "/").last, let digest = Digest(hex: hex),
            object(digest) == key
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
        let parts = key.split(separator: "/", omittingEmptySubsequences: false)
        guard parts.count == 4, parts[1].utf8.count == 2, let part = UInt8(parts[1], radix: 16),
            let name = Digest(hex: parts[2]), let digest = Digest(hex: parts[3])
        else { return nil }
        let reference = ReferenceName(part: part, name: name)
        return Self.reference(reference, to: digest) == key ? (reference, digest) : nil
    }
}

extension UInt8 {
    /// Two digits in lower case.
    var hex: String { String(self >> 4, radix: 16) + String(self & 15, radix: 16) }
}
