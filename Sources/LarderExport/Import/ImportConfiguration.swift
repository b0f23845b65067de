import Foundation
import LarderCache
import LarderKit

/// What is imported, and how.
public struct ImportConfiguration: Sendable {
    /// Whose cache it is: a layout that ``ExportLayout/isImportable``.
    public var layout: ExportLayout
    /// The directory beneath which the layout's own one is.
    public var directory: String
    /// 8 and later name files by SHA-256, 7 by MD5. Default: 8.
    public var kingfisherVersion = 8
    /// The name of the library's directory, where an app has chosen it; one that
    /// ``ExportLayout/isFolder(_:)``. Default: nil, the library's own.
    public var folder: String?
    /// How many bytes a file may have. Default: 16 MiB.
    public var maximumBytes: Int64 = 16 << 20
    /// Whether files are adopted that are no images. Default: false.
    public var acceptsAnyContent = false
    /// How manifests are read. Default: as their content tells.
    public var manifestRules = ManifestRules()

    /// The rules of the layout's library; nil of a layout that is none's.
    var keyed: (any KeyedLayout)? {
        layout.keyed(kingfisherVersion: kingfisherVersion, folder: folder)
    }

    /// Takes what has no default.
    public init(layout: ExportLayout, directory: String) {
        self.layout = layout
        self.directory = directory
    }

    /// Makes sure that there is something to import from, before a cache is made for it.
    ///
    /// - Parameter path: the cache's directory, which need not be there.
    /// - Throws: `CacheError`, `.missing` if there is no such directory, `.unusable` if it is the
    ///   cache, or has it among the library's files.
    public func check(besideCacheAt path: String) throws(CacheError) {
        _ = try folder(besideCacheAt: path)
    }

    /// The layout's directory; a link on the way beneath the user's own one is not followed.
    func folder(besideCacheAt path: String) throws(CacheError) -> FileDescriptor {
        let names = keyed?.folders ?? []
        let root = try Cache.usersDirectory(directory)
        var folder = root
        for name in names {
            do throws(CacheError) {
                folder = try folder.directory(name)
            } catch  where [ENOENT, ENOTDIR, ELOOP].contains(error.errno) {
                throw CacheError(
                    .missing, subject: directory,
                    message: """
                        there is no directory \(names.joined(separator: "/")) in it; name the one \
                        that has it
                        """)
            }
        }
        let place = try Cache.nearestDirectory(to: path)
        let isCache =
            try FileIdentity(path: path)?.isSameFile(as: FileIdentity(root.status())) ?? false
        // On macOS, the default cache lies beside those of the libraries, in Library/Caches.
        guard !isCache, try !place.lies(in: folder) else {
            throw CacheError(.unusable, subject: directory, message: "has the cache in it")
        }
        return folder
    }
}
