import Foundation
import LarderCache
import Synchronization

/// A file that takes the place of another as a whole: who reads it sees the old one or the new one,
/// whatever is killed or cut off when. Until it is committed, the old one is left alone.
final class OutputReplacement: Sendable {
    private let path: String
    private let state = Mutex(State())

    fileprivate struct State {
        var file: (name: String, descriptor: Int32)?
        var buffer: [UInt8] = []
        var failure: OutputFailure?
    }

    /// Nothing is written yet.
    init(_ path: String) { self.path = path }

    deinit { state.withLock { $0.discard() } }

    /// - Throws: ``OutputFailure`` if it is clear already that nothing can be put there.
    func check() throws(OutputFailure) {
        var status = stat()
        // A device, or a link to somewhere, is not to be replaced by a file.
        if lstat(path, &status) == 0, status.st_mode & S_IFMT != S_IFREG {
            throw OutputFailure(path, "is not a regular file")
        }
        guard access(directory, W_OK | X_OK) == 0 else { throw OutputFailure("open", path, errno) }
    }

    /// Adds to the new file. What goes wrong is told at the end.
    func add(_ text: String) {
        state.withLock { state in
            guard state.failure == nil else { return }
            state.buffer += text.utf8
            guard state.buffer.count >= 64 * 1024 else { return }
            do throws(OutputFailure) { try state.flush(to: path) } catch { state.failure = error }
        }
    }

    /// Puts the new file in the old one's place, durably.
    ///
    /// - Throws: ``OutputFailure`` if that, or an earlier step, failed; the old file is still
    ///   there then.
    func commit() throws(OutputFailure) {
        let failure: OutputFailure? = state.withLock { state in
            defer { state.discard() }
            if let failure = state.failure { return failure }
            do throws(OutputFailure) {
                try state.flush(to: path)
                try state.publish(as: path)
                return nil
            } catch {
                return error
            }
        }
        if let failure { throw failure }
        // What a crash undid here would be the old file, which is whole, too.
        let parent = open(directory, O_RDONLY | O_DIRECTORY | O_CLOEXEC)
        guard parent >= 0 else { return }
        fsync(parent)
        close(parent)
    }

    private var directory: String { path.parentDirectory }
}

extension OutputReplacement.State {
    fileprivate mutating func flush(to path: String) throws(OutputFailure) {
        if file == nil { file = try Self.create(for: path) }
        guard let file else { return }
        var rest = buffer[...]
        while !rest.isEmpty {
            let count = rest.withUnsafeBytes { write(file.descriptor, $0.baseAddress, $0.count) }
            if count < 0 {
                if errno == EINTR { continue }
                throw OutputFailure("write", path, errno)
            }
            rest = rest.dropFirst(count)
        }
        buffer.removeAll(keepingCapacity: true)
    }

    private static func create(for path: String) throws(OutputFailure) -> (String, Int32) {
        // The ending is none that a collector of `*.prom` reads.
        let name = "\(path).\(String(UInt32.random(in: .min ... .max), radix: 36)).tmp"
        let descriptor = open(name, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0o666)
        guard descriptor >= 0 else { throw OutputFailure("open", path, errno) }
        var old = stat()
        // Whoever made the old one for few has the new one for as few.
        if lstat(path, &old) == 0 { fchmod(descriptor, old.st_mode & 0o777) }
        return (name, descriptor)
    }

    fileprivate mutating func publish(as path: String) throws(OutputFailure) {
        guard let file else { return }
        guard fsync(file.descriptor) == 0, rename(file.name, path) == 0 else {
            throw OutputFailure("write", path, errno)
        }
        close(file.descriptor)
        self.file = nil
    }

    fileprivate mutating func discard() {
        guard let file else { return }
        unlink(file.name)
        close(file.descriptor)
        self.file = nil
    }
}
