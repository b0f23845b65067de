import Foundation

extension FileManager {
    /// Removes a file or directory, even if other code removes files in it at the same time.
    ///
    /// `removeItem` stops at the first file that has disappeared, such as the log that SQLite
    /// deletes with its last connection, and leaves the rest.
    ///
    /// - Throws: The error that prevents the removal.
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
