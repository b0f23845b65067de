import Foundation

/// Helpers that read and write files without the code under test.
enum Tree {
    /// Returns the paths of all files and links in `root` and its subdirectories, relative to
    /// `root`.
    static func files(_ root: String) -> Set<String> {
        var files: Set<String> = []
        for case let name as String in FileManager.default.enumerator(atPath: root) ?? .init() {
            var status = stat()
            guard lstat("\(root)/\(name)", &status) == 0, !isDirectory(status) else { continue }
            files.insert(name)
        }
        return files
    }

    /// Returns the sorted names of the entries of `directory`.
    static func names(_ directory: String) -> [String] {
        ((try? FileManager.default.contentsOfDirectory(atPath: directory)) ?? []).sorted()
    }

    static func bytes(_ path: String) throws -> [UInt8] {
        Array(try Data(contentsOf: URL(fileURLWithPath: path)))
    }

    /// Writes a new file at `path`. Replaces an existing file and creates missing directories.
    static func put(_ bytes: [UInt8], at path: String) throws {
        try FileManager.default.createDirectory(
            atPath: URL(fileURLWithPath: path).deletingLastPathComponent().path,
            withIntermediateDirectories: true)
        unlink(path)
        try Data(bytes).write(to: URL(fileURLWithPath: path))
    }

    static func permissions(_ path: String) -> mode_t? {
        var status = stat()
        return lstat(path, &status) == 0 ? status.st_mode & 0o7777 : nil
    }

    private static func isDirectory(_ status: stat) -> Bool { status.st_mode & S_IFMT == S_IFDIR }
}
