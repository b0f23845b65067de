import Foundation
import LarderCache
import Synchronization

/// A file that takes the place of another as a whole: who reads it sees the old one or the new one,
/// whatever is killed or cut off when. Until it is committed, the old one is left alone.
final class OutputReplacement: Sendable {
    private let path: String
    private let mode: mode_t
    private let state = Mutex(State())

    fileprivate struct State {
        var folder: FileDescriptor?
        var file: (name: String, descriptor: FileDescriptor)?
        var buffer: [UInt8] = []
        var failure: OutputFailure?
    }

    /// Nothing is written yet.
    ///
    /// - Parameter mode: The mode of the file, before the umask. It never gets more: a file that it
    ///   replaces can only take permissions away. Default: everybody may read it.
    init(_ path: String, mode: mode_t = 0o644) {
        self.path = path
        self.mode = mode
    }

    deinit { state.withLock { $0.discard() } }

    /// - Throws: ``OutputFailure`` if it is clear already that nothing can be put there.
    func check() throws(OutputFailure) {
        let failure = state.withLock { state in
            OutputFailure.of { () throws(CacheError) in
                let folder = try state.folder(of: path)
                guard !path.lastName.isEmpty else {
                    throw CacheError("open", subject: path, errno: EISDIR)
                }
                // A device, or a link to somewhere, is not to be replaced by a file.
                if let status = try folder.status(of: path.lastName), !status.isRegularFile {
                    throw CacheError(.unusable, subject: path, message: "is not a regular file")
                }
                guard faccessat(folder.raw, ".", W_OK | X_OK, 0) == 0 else {
                    throw CacheError("open", subject: path, errno: errno)
                }
            }
        }
        if let failure { throw failure }
    }

    /// Adds to the new file. What goes wrong is told at the end.
    func add(_ text: String) {
        state.withLock { state in
            guard state.failure == nil else { return }
            state.buffer += text.utf8
            guard state.buffer.count >= 64 * 1024 else { return }
            state.failure = OutputFailure.of { () throws(CacheError) in
                try state.flush(to: path, mode)
            }
        }
    }

    /// Puts the new file in the old one's place, durably.
    ///
    /// - Throws: ``OutputFailure`` if that, or an earlier step, failed; the old file is still
    ///   there then.
    func commit() throws(OutputFailure) {
        let failure = state.withLock { state in
            defer { state.discard() }
            return state.failure
                ?? OutputFailure.of { () throws(CacheError) in
                    try state.flush(to: path, mode)
                    try state.publish(as: path)
                }
        }
        if let failure { throw failure }
    }
}

extension OutputReplacement.State {
    /// The directory of the file, opened once.
    fileprivate mutating func folder(of path: String) throws(CacheError) -> FileDescriptor {
        if let folder { return folder }
        let folder = try Self.naming(path, "open") { () throws(CacheError) in
            try UsersPath(path.parentDirectory).folder()
        }
        self.folder = folder
        return folder
    }

    /// Reports a failed system call as one on the user's own path.
    private static func naming<Value>(
        _ path: String, _ call: String, _ body: () throws(CacheError) -> Value
    ) throws(CacheError) -> Value {
        do throws(CacheError) {
            return try body()
        } catch {
            throw error.errno.map { CacheError(call, subject: path, errno: $0) } ?? error
        }
    }

    fileprivate mutating func flush(to path: String, _ mode: mode_t) throws(CacheError) {
        if file == nil { file = try create(for: path, mode) }
        try Self.naming(path, "write") { () throws(CacheError) in
            try file?.descriptor.write(buffer)
        }
        buffer.removeAll(keepingCapacity: true)
    }

    private mutating func create(
        for path: String, _ mode: mode_t
    ) throws(CacheError) -> (String, FileDescriptor) {
        let folder = try folder(of: path)
        // The ending is none that a collector of `*.prom` reads.
        let name = "\(path.lastName).\(String(UInt32.random(in: .min ... .max), radix: 36)).tmp"
        let file = try Self.naming(path, "open") { () throws(CacheError) in
            try folder.open(name, flags: O_WRONLY | O_CREAT | O_EXCL, mode: mode)
        }
        // Whoever made the old one for few has the new one for as few.
        if let old = try folder.status(of: path.lastName) {
            try file.setMode(try file.status().st_mode & old.st_mode & 0o777)
        }
        return (name, file)
    }

    fileprivate mutating func publish(as path: String) throws(CacheError) {
        guard let (name, descriptor) = file, let folder else { return }
        guard fsync(descriptor.raw) == 0, renameat(folder.raw, name, folder.raw, path.lastName) == 0
        else { throw CacheError("write", subject: path, errno: errno) }
        file = nil
        // What a crash undid here would be the old file, which is whole, too.
        if let readable = try? folder.directory(".") { fsync(readable.raw) }
    }

    fileprivate mutating func discard() {
        guard let (name, descriptor) = file, let folder else { return }
        if (try? folder.has(descriptor, as: name)) == true { unlinkat(folder.raw, name, 0) }
        file = nil
    }
}
