import Foundation

/// One run's own directory beneath `tmp/`: staged bodies and the plan.
///
/// The run holds a lock on it, released by the kernel when the process ends however it ends, so
/// that whatever a dead run left is known to be nobody's and swept by the next.
final class RunDirectory: Sendable {
    let name: String
    let directory: FileDescriptor
    private let parent: FileDescriptor
    private let serial = Counter()

    init(in cache: CacheDirectory) throws(CacheError) {
        parent = try FileDescriptor.directory(
            CacheLayout.temporary, beneath: cache.root, create: true)
        while true {
            let name = "run-" + String(UInt64.random(in: .min ... .max), radix: 36)
            guard mkdirat(parent.raw, name, 0o700) == 0 else {
                throw CacheError("mkdir", subject: "tmp/\(name)", errno: errno)
            }
            do throws(CacheError) {
                let directory = try FileDescriptor.open(
                    name, beneath: parent, flags: O_RDONLY | O_DIRECTORY)
                guard flock(directory.raw, LOCK_EX | LOCK_NB) == 0 else {
                    throw CacheError("lock", subject: "tmp/\(name)", errno: errno)
                }
                guard try parent.status(of: name) != nil else { continue }
                self.name = name
                self.directory = directory
                return
            } catch  where error.errno == ENOENT || error.code == .locked {
                // A sweeping process took it before it was locked: make another.
            } catch {
                unlinkat(parent.raw, name, AT_REMOVEDIR)
                throw error
            }
        }
    }

    deinit { remove() }

    /// Removes the directory and all that is in it.
    func remove() { Self.remove(name, beneath: parent) }

    /// A name that no other staged file of this run has.
    func uniqueName() -> String { String(serial.next(), radix: 36) }

    /// Removes a staged file; one that is already gone is fine.
    func remove(_ name: String) { unlinkat(directory.raw, name, 0) }

    /// Removes what runs that have ended left in `tmp/`; returns how many there were.
    @discardableResult
    static func sweepAbandoned(in cache: CacheDirectory) throws(CacheError) -> Int {
        let parent = try FileDescriptor.directory(
            CacheLayout.temporary, beneath: cache.root, create: true)
        var swept = 0
        for name in try parent.names(subject: CacheLayout.temporary) where name.hasPrefix("run-") {
            guard
                let run = try? FileDescriptor.open(
                    name, beneath: parent, flags: O_RDONLY | O_DIRECTORY),
                flock(run.raw, LOCK_EX | LOCK_NB) == 0
            else { continue }
            remove(name, beneath: parent)
            swept += 1
        }
        return swept
    }

    private static func remove(_ name: String, beneath parent: FileDescriptor) {
        guard
            let directory = try? FileDescriptor.open(
                name, beneath: parent, flags: O_RDONLY | O_DIRECTORY),
            let names = try? directory.names(subject: name)
        else { return }
        for file in names { unlinkat(directory.raw, file, 0) }
        unlinkat(parent.raw, name, AT_REMOVEDIR)
    }
}

/// A number that only grows, shared by threads.
private final class Counter: @unchecked Sendable {
    // Unchecked because `value` is a variable; every access holds `lock`.
    private let lock = NSLock()
    private var value: UInt64 = 0

    func next() -> UInt64 {
        lock.withLock {
            value += 1
            return value
        }
    }
}
