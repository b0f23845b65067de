import Foundation

/// A temporary directory for one test.
public struct TemporaryDirectory: Sendable {
    /// The path, with symbolic links resolved.
    public let path: String

    /// The path as a URL.
    public var url: URL { URL(fileURLWithPath: path, isDirectory: true) }

    /// Returns the path of a file in the directory.
    public func path(_ name: String) -> String { "\(path)/\(name)" }

    init() throws(OriginError) {
        let base = FileManager.default.temporaryDirectory.resolvingSymlinksInPath().path
        var template = Array("\(base)/larder-test-XXXXXX".utf8CString)
        guard mkdtemp(&template) != nil else { throw OriginError("mkdtemp in \(base)") }
        path = String(decoding: template.dropLast().map(UInt8.init(bitPattern:)), as: UTF8.self)
    }

    /// Removes the directory, even if the test has removed permissions.
    func remove() {
        Self.makeWritable(path)
        try? FileManager.default.removeItem(atPath: path)
    }

    /// Makes directories writable. The permissions of files do not prevent their removal.
    private static func makeWritable(_ directory: String) {
        chmod(directory, 0o700)
        let names = (try? FileManager.default.contentsOfDirectory(atPath: directory)) ?? []
        for name in names {
            let path = "\(directory)/\(name)"
            var status = stat()
            guard lstat(path, &status) == 0, status.st_mode & S_IFMT == S_IFDIR else { continue }
            makeWritable(path)
        }
    }
}

/// Runs `body` with a new, empty directory and removes it afterwards.
public func withTemporaryDirectory<Result>(
    _ body: (TemporaryDirectory) throws -> Result
) throws -> Result {
    let directory = try TemporaryDirectory()
    defer { directory.remove() }
    return try body(directory)
}

/// Runs `body` with a new, empty directory and removes it afterwards.
public func withTemporaryDirectory<Result>(
    isolation: isolated (any Actor)? = #isolation,
    _ body: (TemporaryDirectory) async throws -> Result
) async throws -> Result {
    let directory = try TemporaryDirectory()
    defer { directory.remove() }
    return try await body(directory)
}
