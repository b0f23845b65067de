import Foundation

/// The files beneath `objects/sha256`, as they are and not as the index says.
struct ObjectTree {
    /// One name found in the tree.
    struct Entry {
        /// The directory that holds it.
        let parent: FileDescriptor
        let name: String
        /// The path beneath the cache root.
        let path: String
        /// The digest that the name spells in its proper place; nil for any other name.
        let digest: Digest?
        /// The digest that the name spells although the file lies in another's directory.
        let misplaced: Digest?
    }

    private let directory: CacheDirectory

    init(_ directory: CacheDirectory) { self.directory = directory }

    /// Calls `body` for every name in every fan-out directory, and for whatever lies beside them.
    ///
    /// - Parameter onRefusal: called for a fan-out directory that may not be entered. Default:
    ///   throws.
    func walk(
        onRefusal: (CacheError) throws(CacheError) -> Void = { (error) throws(CacheError) in
            throw error
        },
        _ body: (Entry) throws(CacheError) -> Void
    ) throws(CacheError) {
        guard let root = try root() else { return }
        for name in try root.names() {
            if Self.isFanOut(name), try root.status(of: name)?.isDirectory == true {
                do throws(CacheError) {
                    try walk(fanOut: name, beneath: root, body)
                } catch  where error.errno == EACCES {
                    try onRefusal(error)
                }
            } else {
                try body(entry(name, in: root, prefix: ""))
            }
        }
    }

    /// The directory `objects/sha256`; nil if there is none yet.
    func root() throws(CacheError) -> FileDescriptor? {
        do {
            return try directory.objects()
        } catch  where error.errno == ENOENT {
            return nil
        }
    }

    /// Calls `body` for every name in one fan-out directory.
    func walk(
        fanOut name: String, beneath root: FileDescriptor,
        _ body: (Entry) throws(CacheError) -> Void
    ) throws(CacheError) {
        let fanOut = try root.directory(name)
        for file in try fanOut.names() {
            try body(entry(file, in: fanOut, prefix: name))
        }
    }

    /// The name of the fan-out directory of a leading byte.
    static func fanOut(_ byte: UInt8) -> String {
        (byte < 16 ? "0" : "") + String(byte, radix: 16)
    }

    static func isFanOut(_ name: String) -> Bool {
        name.utf8.count == 2 && name.utf8.allSatisfy { "0123456789abcdef".utf8.contains($0) }
    }

    private func entry(_ name: String, in parent: FileDescriptor, prefix: String) -> Entry {
        // Upper case is another file on most systems: only the canonical spelling is an object's.
        let digest = Digest(hex: name).flatMap { $0.hex == name ? $0 : nil }
        let isHome = !prefix.isEmpty && name.hasPrefix(prefix)
        return Entry(
            parent: parent, name: name,
            path: "\(CacheLayout.objectTree)/" + (prefix.isEmpty ? name : "\(prefix)/\(name)"),
            digest: isHome ? digest : nil, misplaced: isHome ? nil : digest)
    }
}
