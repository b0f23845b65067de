import Foundation
import LarderCache

/// The directory that is exported to, locked against other exports. No link in it is followed, and
/// nothing outside of it is written, even if another user owns it.
final class ExportTree: Sendable {
    /// What the user named.
    let root: FileDescriptor
    /// The layout's own directory in it: that itself, or beneath it.
    let folder: FileDescriptor
    /// The path of ``folder``, for messages.
    let path: String

    private static let temporaryStart = ".larder-"
    private static let temporaryEnd = ".partial"

    /// Makes what is not there yet, and removes what killed exports have left.
    ///
    /// - Parameters:
    ///   - path: a path of the user's own; links in it are followed unless they are another user's.
    ///   - folders: the layout's directories in it, from the outermost.
    ///   - cache: what is exported.
    /// - Throws: ``CacheError``, `.unusable` if it lies in the cache, or the cache in it, `.locked`
    ///   if another export writes it.
    init(_ path: String, folders: [String], outside cache: Cache) throws(CacheError) {
        let path = URL(fileURLWithPath: path).standardizedFileURL.path
        root = try UsersPath(path).directory(create: true) { (nearest) throws(CacheError) in
            guard try !nearest.lies(in: cache.root) else {
                throw CacheError(.unusable, subject: path, message: "lies in the cache")
            }
        }
        var folder = root
        for name in folders { folder = try folder.folder(name) }
        self.folder = folder
        self.path = ([path] + folders).joined(separator: "/")
        guard try !cache.root.lies(in: folder) else {
            throw CacheError(.unusable, subject: self.path, message: "has the cache in it")
        }
        guard flock(folder.raw, LOCK_EX | LOCK_NB) == 0 else {
            throw CacheError(
                .locked, subject: self.path, message: "another export writes into it")
        }
        try sweep()
    }

    deinit { flock(folder.raw, LOCK_UN) }

    /// Hands over the names in a directory.
    ///
    /// - Parameter directory: default: ``folder``.
    func forEachName(
        in directory: FileDescriptor? = nil, _ body: (String) throws -> Void
    ) throws {
        var failure: (any Error)?
        try (directory ?? folder).forEachName { name in
            guard failure == nil else { return }
            do { try body(name) } catch { failure = error }
        }
        if let failure { throw failure }
    }

    /// Whoever held the lock before is gone, and has left what it has not renamed.
    private func sweep() throws(CacheError) {
        try folder.forEachName { (name) throws(CacheError) in
            if Self.isTemporary(name) { unlinkat(folder.raw, name, 0) }
        }
    }

    static func isTemporary(_ name: String) -> Bool {
        guard name.utf8.starts(with: temporaryStart.utf8) else { return false }
        let rest = name.utf8.dropFirst(temporaryStart.utf8.count)
        let serial = rest.prefix { $0 != UInt8(ascii: ".") }
        return !serial.isEmpty && serial.allSatisfy(\.isDigit)
            && rest.dropFirst(serial.count).elementsEqual(temporaryEnd.utf8)
    }

    /// The name of a file that is not finished; a number of its own for each.
    static func temporary(_ serial: Int) -> String { "\(temporaryStart)\(serial)\(temporaryEnd)" }

    /// Makes a file that is not finished.
    ///
    /// - Parameter serial: the last number; behind it, what is in the way is passed over: it may be
    ///   a directory, or somebody else's.
    func newFile(
        after serial: inout Int
    ) throws(CacheError) -> (name: String, file: FileDescriptor) {
        while true {
            serial += 1
            let name = Self.temporary(serial)
            do throws(CacheError) {
                return (name, try folder.create(name))
            } catch  where error.errno == EEXIST {}
        }
    }
}
