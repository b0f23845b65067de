import ArgumentParser
import Foundation
import LarderCache
import Synchronization

enum OutputFile {
    static func write(_ text: String, to path: String, mode: mode_t = 0o644) throws(CacheError) {
        let replacement = OutputReplacement(path, mode: mode)
        try replacement.check()
        replacement.add(text.utf8)
        try replacement.commit()
    }

    /// Throws if the path contains a symbolic link that another user owns.
    static func open(
        _ path: String, flags: Int32, mode: mode_t
    ) throws(CacheError) -> FileDescriptor {
        do throws(CacheError) {
            if path.lastName.isEmpty { throw CacheError("open", subject: path, errno: EISDIR) }
            return try UsersPath(path).file(flags: flags, mode: mode)
        } catch {
            guard error.errno == ENXIO, flags & O_NONBLOCK != 0 else { throw error.ofOutput }
            throw CacheError(
                .unusable, subject: path, message: "is a pipe or device without a reader")
        }
    }

    /// Copies a file and its permissions durably, unless `other` exists.
    static func copy(_ path: String, to other: String) throws(CacheError) {
        do throws(CacheError) {
            let folder = try UsersPath(path.parentDirectory).folder()
            let file = try folder.file(path.lastName)
            // Must follow the open, because another run creates `other` before replacing the file.
            if let status = try folder.status(of: other.lastName) {
                guard status.isRegularFile else {
                    throw CacheError(.unusable, subject: other, message: "is not a regular file")
                }
                return
            }
            let copy = OutputReplacement(other, mode: try file.status().st_mode & 0o777)
            while case let bytes = try file.read(atMost: 64 << 10), !bytes.isEmpty {
                copy.add(bytes)
            }
            try copy.commit()
        } catch {
            throw error.ofOutput
        }
    }

    static func confirm(
        _ path: String, isNoneOf manifests: [String] = [], orIn cache: String?, for option: String
    ) throws {
        let file = identity(path)
        for manifest in manifests where file != nil && identity(manifest) == file {
            throw ValidationError("\(option) would overwrite the manifest '\(manifest)'")
        }
        guard let root = cache.flatMap(realPath),
            let place = place(path), "\(place)/".hasPrefix(root == "/" ? root : "\(root)/")
        else { return }
        throw ValidationError("\(option) would write into the cache: '\(path)'")
    }

    static func confirm(
        _ path: String, for option: String, isNot other: String, for otherOption: String
    ) throws {
        let isSame =
            identity(path).map { $0 == identity(other) }
            ?? (place(path).map { $0 == place(other) } ?? false)
        try refuse(if: isSame, "\(option) and \(otherOption) name the same file: '\(path)'")
    }

    /// Returns the real path of a file that may not exist. Follows up to 40 links, as Linux does.
    private static func place(_ path: String, links: Int = 40) -> String? {
        if let place = realPath(path) { return place }
        if let target = try? FileManager.default.destinationOfSymbolicLink(atPath: path) {
            let folder = target.hasPrefix("/") ? "" : path.parentDirectory + "/"
            return links > 0 ? place(folder + target, links: links - 1) : nil
        }
        return realPath(path.parentDirectory).map {
            "\($0)/\(URL(fileURLWithPath: path).lastPathComponent)"
        }
    }

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

/// A file that replaces another file atomically, even if a crash interrupts it.
final class OutputReplacement: Sendable {
    private let state: Mutex<State>

    /// The umask and the replaced file's permissions limit `mode`.
    init(_ path: String, mode: mode_t = 0o644) { state = Mutex(State(path: path, mode: mode)) }

    deinit { state.withLock { $0.discard() } }

    func check() throws(CacheError) {
        try attempt { (state) throws(CacheError) in try state.check() }
    }

    func add(_ bytes: some Sequence<UInt8>) {
        try? attempt { (state) throws(CacheError) in
            state.buffer += bytes
            if state.buffer.count >= 64 * 1024 { try state.flush() }
        }
    }

    /// Replaces the old file durably, or keeps it and throws if any step failed.
    func commit() throws(CacheError) {
        defer { state.withLock { $0.discard() } }
        try attempt { (state) throws(CacheError) in
            try state.flush()
            try state.publish()
        }
    }

    private func attempt(_ body: (inout State) throws(CacheError) -> Void) throws(CacheError) {
        let failure = state.withLock { state -> CacheError? in
            guard state.failure == nil else { return state.failure }
            do throws(CacheError) { try body(&state) } catch { state.failure = error.ofOutput }
            return state.failure
        }
        if let failure { throw failure }
    }

    private struct State {
        let path: String
        let mode: mode_t
        var folder: FileDescriptor?
        var file: (name: String, descriptor: FileDescriptor)?
        var buffer: [UInt8] = []
        var failure: CacheError?

        private mutating func openFolder() throws(CacheError) -> FileDescriptor {
            if let folder { return folder }
            let folder = try naming("open") { () throws(CacheError) in
                try UsersPath(path.parentDirectory).folder()
            }
            self.folder = folder
            return folder
        }

        private func naming<Value>(
            _ call: String, _ body: () throws(CacheError) -> Value
        ) throws(CacheError) -> Value {
            do throws(CacheError) {
                return try body()
            } catch {
                throw error.errno.map { CacheError(call, subject: path, errno: $0) } ?? error
            }
        }

        mutating func check() throws(CacheError) {
            let folder = try openFolder()
            if path.lastName.isEmpty { throw CacheError("open", subject: path, errno: EISDIR) }
            if let status = try folder.status(of: path.lastName), !status.isRegularFile {
                throw CacheError(.unusable, subject: path, message: "is not a regular file")
            }
            guard faccessat(folder.raw, ".", W_OK | X_OK, 0) == 0 else {
                throw CacheError("open", subject: path, errno: errno)
            }
        }

        mutating func flush() throws(CacheError) {
            if file == nil { file = try create() }
            try naming("write") { () throws(CacheError) in try file?.descriptor.write(buffer) }
            buffer.removeAll(keepingCapacity: true)
        }

        private mutating func create() throws(CacheError) -> (String, FileDescriptor) {
            let folder = try openFolder()
            // The name does not end in .prom, because Prometheus would read the unfinished file.
            let name = "\(path.lastName).\(String(UInt32.random(in: .min ... .max), radix: 36)).tmp"
            let file = try naming("open") { () throws(CacheError) in
                try folder.open(name, flags: O_WRONLY | O_CREAT | O_EXCL, mode: mode)
            }
            if let old = try folder.status(of: path.lastName) {
                try file.setMode(try file.status().st_mode & old.st_mode & 0o777)
            }
            return (name, file)
        }

        mutating func publish() throws(CacheError) {
            guard let (name, descriptor) = file, let folder else { return }
            guard fsync(descriptor.raw) == 0,
                renameat(folder.raw, name, folder.raw, path.lastName) == 0
            else { throw CacheError("write", subject: path, errno: errno) }
            file = nil
            // If this fails, a crash can at most bring back the old file, which is complete.
            if let readable = try? folder.directory(".") { fsync(readable.raw) }
        }

        mutating func discard() {
            guard let (name, descriptor) = file, let folder else { return }
            if (try? folder.has(descriptor, as: name)) == true { unlinkat(folder.raw, name, 0) }
            file = nil
        }
    }
}
