import ArgumentParser
import Foundation
import LarderCache

/// A file that is replaced as a whole: who reads it sees the old one or the new one.
enum OutputFile {
    /// - Parameter mode: The mode of the file, before the umask (``OutputReplacement``).
    /// - Throws: ``OutputFailure`` if it cannot be written; the old file is still there then.
    static func write(
        _ text: String, to path: String, mode: mode_t = 0o644
    ) throws(OutputFailure) {
        let replacement = OutputReplacement(path, mode: mode)
        try replacement.check()
        replacement.add(text)
        try replacement.commit()
    }

    /// Opens a file to write to it where it is, made first if it does not exist.
    ///
    /// - Parameters:
    ///   - flags: Flags of open(2), without O_CREAT.
    ///   - mode: The mode of a new file, before the umask.
    /// - Throws: ``OutputFailure``, also if the path leads through another user's link.
    static func open(
        _ path: String, flags: Int32, mode: mode_t
    ) throws(OutputFailure) -> FileDescriptor {
        guard !path.lastName.isEmpty else { throw OutputFailure("open", path, EISDIR) }
        do throws(CacheError) {
            return try UsersPath(path).file(flags: flags, mode: mode)
        } catch {
            throw OutputFailure(error)
        }
    }

    /// Makes sure that a file which is to be written is none that the run lives on.
    ///
    /// - Parameters:
    ///   - manifests: the manifests that are read.
    ///   - trace: the trace of a scroll; nil if there is none.
    ///   - cache: the cache's directory; nil if the run has none.
    /// - Throws: `ValidationError` if it is one of those, or lies in the cache.
    static func confirm(
        _ path: String, isNoneOf manifests: [String] = [], or trace: String? = nil,
        orIn cache: String?, for option: String
    ) throws {
        if let file = identity(path) {
            for manifest in manifests where identity(manifest) == file {
                throw ValidationError("\(option) would overwrite the manifest '\(manifest)'.")
            }
            if let trace, identity(trace) == file {
                throw ValidationError("\(option) would overwrite the trace '\(trace)'.")
            }
        }
        guard let root = cache.flatMap(realPath),
            let place = place(path),
            "\(place)/".hasPrefix(root == "/" ? root : "\(root)/")
        else { return }
        throw ValidationError("\(option) would write into the cache: '\(path)'.")
    }

    /// Makes sure that two files which are to be written are not the same one.
    ///
    /// - Throws: `ValidationError` if they are, or will be.
    static func confirm(
        _ path: String, for option: String, isNot other: String, for otherOption: String
    ) throws {
        let file = identity(path)
        let isSame =
            file.map { $0 == identity(other) }
            ?? (place(path).map { $0 == place(other) } ?? false)
        guard isSame else { return }
        throw ValidationError("\(option) and \(otherOption) name the same file: '\(path)'.")
    }

    /// As many links in a row as Linux follows.
    private static let mostLinks = 40

    /// Where a file is or will be: also at the end of links that lead to nothing yet. Nil if its
    /// directory is not there.
    private static func place(_ path: String) -> String? {
        var path = path
        for _ in 0...mostLinks {
            if let place = realPath(path) { return place }
            guard let target = linkTarget(path) else {
                return realPath(path.parentDirectory).map {
                    "\($0)/\(URL(fileURLWithPath: path).lastPathComponent)"
                }
            }
            path = target.hasPrefix("/") ? target : "\(path.parentDirectory)/\(target)"
        }
        return nil
    }

    /// What a symbolic link says; nil if it is none.
    private static func linkTarget(_ path: String) -> String? {
        try? FileManager.default.destinationOfSymbolicLink(atPath: path)
    }

    /// What a name leads to, `-` being standard input; nil if that is nothing, or no regular
    /// file.
    private static func identity(_ path: String) -> [UInt64]? {
        var status = stat()
        guard path == "-" ? fstat(STDIN_FILENO, &status) == 0 : stat(path, &status) == 0,
            status.st_mode & S_IFMT == S_IFREG
        else { return nil }
        return [UInt64(status.st_dev), UInt64(status.st_ino)]
    }

    private static func realPath(_ path: String) -> String? {
        guard let resolved = realpath(path, nil) else { return nil }
        defer { free(resolved) }
        return String(cString: resolved)
    }
}
