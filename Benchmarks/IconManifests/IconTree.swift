import Foundation

/// The PNGs beneath a directory.
struct IconTree {
    /// Links to them included, in an order that is the same on every machine.
    let paths: [String]

    init(_ directory: String) {
        var found: [String] = []
        let files = FileManager.default.enumerator(atPath: directory)
        while let path = files?.nextObject() as? String {
            // Follows links: false for those that lead nowhere.
            guard path.hasSuffix(".png"),
                FileManager.default.fileExists(atPath: "\(directory)/\(path)")
            else { continue }
            found.append(path)
        }
        paths = found.sorted()
    }
}
