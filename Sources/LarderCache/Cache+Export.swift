import Foundation
import GRDB

// What an export takes from a cache, and where it puts it.

extension Cache {
    /// The cache's own directory.
    package var root: FileDescriptor { directory.root }

    /// Opens a directory of the user's own to read it.
    ///
    /// - Throws: ``CacheError``, `.missing` if it does not exist.
    package static func usersDirectory(_ path: String) throws(CacheError) -> FileDescriptor {
        let path = URL(fileURLWithPath: path).standardizedFileURL.path
        do throws(CacheError) {
            return try FileDescriptor.open(path, flags: O_RDONLY | O_DIRECTORY)
        } catch  where error.errno == ENOENT {
            throw CacheError(.missing, subject: path, message: "there is no such directory")
        }
    }

    /// The directory at a path of the user's own, or the one that it would be made in.
    package static func nearestDirectory(to path: String) throws(CacheError) -> FileDescriptor {
        do throws(CacheError) {
            return try usersDirectory(path)
        } catch  where error.code == .missing {
            let parent = path.parentDirectory
            // "/" and "." are their own parents.
            guard !parent.isSame(as: path) else { throw error }
            return try nearestDirectory(to: parent)
        }
    }

    /// Gives an object's file another name, in a directory that is not the cache's.
    ///
    /// - Returns: nil, or the system's error number. Which file it was is not known: compare it.
    package func link(
        _ digest: Digest, to directory: FileDescriptor, as name: String
    ) throws(CacheError) -> Int32? {
        let fanOut = try self.directory.fanOut(digest)
        return linkat(fanOut.raw, digest.hex, directory.raw, name, 0) == 0 ? nil : errno
    }

    /// Every spelling of a URL that is not its resource's key, in the order of its bytes, a page at
    /// a time. What others change meanwhile is handed over or not.
    package func forEachSpelling(_ body: (Spelling) throws -> Void) throws {
        guard let index, index.hasSpellings else { return }
        var (last, comparison) = ("", ">=")
        while true {
            let page = try index.lookUp { db in
                try PreparedStatement(
                    db,
                    """
                    SELECT s.text, r.key FROM spellings s JOIN resources r ON r.id = s.resource
                    WHERE s.text \(comparison) ? ORDER BY s.text LIMIT 500
                    """
                ).rows(last) { Spelling(try $0.requireText(0), of: try $0.requireText(1)) }
            }
            guard let end = page.last else { return }
            if comparison == ">", !last.utf8.lexicographicallyPrecedes(end.text.utf8) {
                // It would be read for ever.
                throw CacheError(
                    .damaged, subject: index.path, message: "spellings are out of order")
            }
            (last, comparison) = (end.text, ">")
            for spelling in page { try body(spelling) }
        }
    }
}
