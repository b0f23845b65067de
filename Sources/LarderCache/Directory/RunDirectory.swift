import Foundation

typealias RunFile = (name: String, descriptor: FileDescriptor)

/// A run's directory in `tmp/`. Later runs can sweep it, because its lock ends with the process.
final class RunDirectory: Sendable {
    let name: String
    let directory: FileDescriptor
    private let parent: FileDescriptor
    private let serial = Counter(0)

    init(in cache: CacheDirectory) throws(CacheError) {
        parent = try cache.root.directory(CacheLayout.temporary, create: true)
        (name, directory) = try parent.makeLockedDirectory(LOCK_EX, mode: 0o700) {
            let now = UInt64(max(0, Date().timeIntervalSince1970) * 1000)
            let random = UInt64.random(in: .min ... .max)
            return "run-\(String(now, radix: 36))-\(String(random, radix: 36))"
        }
    }

    deinit {
        remove()
        directory.unlock()
    }

    func remove() { _ = try? parent.removeTree(name) }
    func uniqueName() -> String { String(serial.next(), radix: 36) }
    func remove(_ name: String) { unlinkat(directory.raw, name, 0) }

    func publish(_ file: String, as name: String, in root: FileDescriptor) throws(CacheError) {
        try Durability.add(try directory.open(file, flags: O_RDONLY))
        try Durability.flush(root)
        try directory.rename(file, to: root, as: name)
        try Durability.add(root)
        try Durability.flush(root)
    }
}
