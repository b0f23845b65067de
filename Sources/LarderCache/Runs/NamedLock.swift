import Foundation

/// A lock that runs agree upon by its name: whoever holds it keeps the others of the same name out,
/// for as long as this lives. The kernel releases it, however the process ends.
///
/// A file beneath the root, which stays: to remove it would take it from under who waits for it.
package final class NamedLock: Sendable {
    private let file: FileDescriptor

    /// Takes the lock `name`. To be held before the cache is opened: who waits for it holds nothing
    /// else.
    ///
    /// - Parameters:
    ///   - path: the cache's root.
    ///   - create: whether the cache is made if there is none.
    ///   - command: what those who wait are told of the holder.
    ///   - wait: how long to wait. Default: not at all.
    /// - Throws: ``CacheError`` `.locked` if another process holds it, `.missing` if there is
    ///   no cache and none is to be made, `.unusable` if `name` is none (``isName(_:)``) or the
    ///   file cannot be opened.
    package init(
        _ name: String, ofCacheAt path: String, create: Bool, for command: String,
        wait: LockWait = .none
    ) throws(CacheError) {
        let subject = "\(CacheLayout.locks)/\(name)"
        guard Self.isName(name) else {
            throw CacheError(.unusable, subject: name, message: "is not a name of a lock")
        }
        // Without its lock: whoever has this name and waits for the cache would never get it from
        // one who has the cache and waits for the name.
        let cache = try CacheDirectory(path: path, create: create, lock: .none)
        let locks = try cache.root.directory(CacheLayout.locks, create: true)
        let file = try locks.createOrOpen(name)
        try wait.take(LOCK_EX, on: file, subject: "\(cache.path)/\(subject)") {
            "held by \(Self.holder(file) ?? "another process")"
        }
        self.file = file
        // For people; nothing depends on it.
        let note = Array("\(getpid()) \(command)\n".utf8)
        if ftruncate(file.raw, 0) == 0 { _ = pwrite(file.raw, note, note.count, 0) }
    }

    deinit { file.unlock() }

    /// Whether a text can name a lock: letters and digits of ASCII, `.`, `_` and `-`, at most 100.
    package static func isName(_ text: String) -> Bool {
        (1...100).contains(text.utf8.count) && text != "." && text != ".."
            && text.unicodeScalars.allSatisfy {
                switch $0 {
                case "a"..."z", "A"..."Z", "0"..."9", ".", "_", "-": true
                default: false
                }
            }
    }

    /// Who noted that it holds the lock; nil if that process has ended, and another is about to.
    private static func holder(_ file: FileDescriptor) -> String? {
        var bytes = [UInt8](repeating: 0, count: 200)
        let count = pread(file.raw, &bytes, bytes.count, 0)
        guard count > 0 else { return nil }
        let line = String(decoding: bytes.prefix(count), as: UTF8.self).prefix { $0 != "\n" }
        let words = line.split(separator: " ", maxSplits: 1)
        guard words.count == 2, let id = pid_t(words[0]), id > 0,
            kill(id, 0) == 0 || errno == EPERM
        else { return nil }
        return "\(words[1]) (process \(id))"
    }
}
