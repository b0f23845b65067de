import Foundation
import LarderCore

/// A lock that one run holds. Its file is never removed, because processes may wait for it.
package final class NamedLock: Sendable {
    private let file: FileDescriptor

    /// Takes the lock. Call this before opening the cache, so that a waiting run holds no lock.
    package init(
        _ name: String, ofCacheAt path: String, create: Bool, for command: String,
        wait: LockWait = .none
    ) throws(CacheError) {
        guard Self.isName(name) else {
            throw CacheError(unusable: name, "is not a valid lock name")
        }
        // The root is not locked, because a process that has locked it may wait for this lock.
        let cache = try CacheDirectory(path: path, create: create, lock: .none)
        let locks = try cache.root.directory(CacheLayout.locks, create: true)
        let file = try locks.createOrOpen(name)
        try wait.take(LOCK_EX, on: file, subject: "\(cache.path)/\(CacheLayout.locks)/\(name)") {
            "held by \(Self.holder(file) ?? "another process")"
        }
        self.file = file
        let note = Array("\(getpid()) \(command)\n".utf8)
        if ftruncate(file.raw, 0) == 0 { _ = pwrite(file.raw, note, note.count, 0) }
    }

    deinit { file.unlock() }

    package static func isName(_ text: String) -> Bool {
        (1...100).contains(text.utf8.count) && text != "." && text != ".."
            && text.utf8.allSatisfy { $0.isASCIILetterOrDigit || "._-".utf8.contains($0) }
    }

    private static func holder(_ file: FileDescriptor) -> String? {
        guard let bytes = try? file.read(at: 0, atMost: 200) else { return nil }
        let line = String(decoding: bytes, as: UTF8.self).prefix { $0 != "\n" }
        let words = line.split(separator: " ", maxSplits: 1)
        guard words.count == 2, let id = pid_t(words[0]), id > 0,
            kill(id, 0) == 0 || errno == EPERM
        else { return nil }
        return "\(words[1]) (process \(id))"
    }
}
