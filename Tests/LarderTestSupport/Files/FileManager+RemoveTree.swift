import Foundation

extension FileManager {
    /// Removes whatever is at a path, also where files of it vanish meanwhile: `removeItem` ends at
    /// the first that does, as SQLite's log when its last user leaves, and keeps the rest.
    ///
    /// - Throws: what keeps it there.
    public func removeTree(atPath path: String) throws {
        for _ in 0..<100 {
            do {
                try removeItem(atPath: path)
                return
            } catch CocoaError.fileNoSuchFile {
                var status = stat()
                if lstat(path, &status) != 0 { return }
            }
        }
        try removeItem(atPath: path)
    }
}
