import Foundation

/// The PNG files in a directory tree.
struct IconTree {
    /// Paths of files and of links to files, sorted.
    let paths: [String]

    init(_ directory: String) {
        var found: [String] = []
        let files = FileManager.default.enumerator(atPath: directory)
        while let path = files?.nextObject() as? String {
            // `fileExists` is false for broken links.
            guard path.hasSuffix(".png"),
                FileManager.default.fileExists(atPath: "\(directory)/\(path)")
            else { continue }
            found.append(path)
        }
        paths = found.sorted()
    }
}
