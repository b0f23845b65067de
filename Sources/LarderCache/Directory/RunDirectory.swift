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
            let name = Self.newName()
            if let number = FileDescriptor.makeDirectory(name, beneath: parent, mode: 0o700) {
                throw CacheError("mkdir", subject: CacheLayout.run(name), errno: number)
            }
            do throws(CacheError) {
                let directory = try FileDescriptor.open(
                    name, beneath: parent, flags: O_RDONLY | O_DIRECTORY)
                guard flock(directory.raw, LOCK_EX | LOCK_NB) == 0 else {
                    throw CacheError("lock", subject: CacheLayout.run(name), errno: errno)
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

    /// `run-`, the milliseconds since 1970 and a random number, in base 36.
    private static func newName() -> String {
        let now = UInt64(max(0, Date().timeIntervalSince1970) * 1000)
        let random = UInt64.random(in: .min ... .max)
        return "run-\(String(now, radix: 36))-\(String(random, radix: 36))"
    }

    /// When the oldest run that is under way began, `own` left out; nil if there is none.
    static func oldestStart(
        in cache: CacheDirectory, except own: String?
    ) throws(CacheError) -> Date? {
        guard let parent = try existingParent(cache) else { return nil }
        var oldest: UInt64?
        for name in try parent.names(subject: CacheLayout.temporary) where name != own {
            let parts = name.split(separator: "-")
            guard parts.count == 3, parts[0] == "run", let start = UInt64(parts[1], radix: 36),
                lock(name, beneath: parent) == nil, try parent.status(of: name) != nil
            else { continue }
            oldest = min(oldest ?? start, start)
        }
        return oldest.map { Date(timeIntervalSince1970: Double($0) / 1000) }
    }

    /// How many entries of `tmp/` no run under way has: what dead runs left, and what is foreign.
    /// Bodies that wait to be continued are none.
    static func leftovers(in cache: CacheDirectory) throws(CacheError) -> Int {
        guard let parent = try existingParent(cache) else { return 0 }
        return try parent.names(subject: CacheLayout.temporary).count { name in
            guard name != CacheLayout.partial else { return false }
            guard
                let run = try? FileDescriptor.open(
                    name, beneath: parent, flags: O_RDONLY | O_DIRECTORY)
            else { return (try? parent.status(of: name)) != nil }
            return flock(run.raw, LOCK_EX | LOCK_NB) == 0
        }
    }

    deinit {
        remove()
        directory.unlock()
    }

    /// Removes the directory and all that is in it.
    func remove() { Self.remove(name, beneath: parent) }

    /// A name that no other staged file of this run has.
    func uniqueName() -> String { String(serial.next(), radix: 36) }

    /// Removes a staged file; one that is already gone is fine.
    func remove(_ name: String) { unlinkat(directory.raw, name, 0) }

    /// Removes what runs that have ended left in `tmp/`; returns how many are gone, and the bytes
    /// on disk that are free since.
    ///
    /// - Parameter isDryRun: only counts them.
    @discardableResult
    static func sweepAbandoned(
        in cache: CacheDirectory, isDryRun: Bool = false
    ) throws(CacheError) -> (runs: Int, bytes: Int64) {
        guard let parent = try existingParent(cache) else { return (0, 0) }
        var swept = (runs: 0, bytes: Int64(0))
        for name in try parent.names(subject: CacheLayout.temporary) where name.hasPrefix("run-") {
            guard let run = lock(name, beneath: parent) else { continue }
            let removed = try parent.removeTree(name, isDryRun: isDryRun)
            withExtendedLifetime(run) {}
            if removed.isGone { swept.runs += 1 }
            swept.bytes += removed.bytes
        }
        return swept
    }

    /// Whether something in `tmp/` is a run's directory.
    static func isRun(_ name: String, _ status: stat) -> Bool {
        status.isDirectory && name.hasPrefix("run-")
    }

    /// The directory `tmp`; nil if there is none.
    private static func existingParent(
        _ cache: CacheDirectory
    ) throws(CacheError) -> FileDescriptor? {
        guard try cache.root.status(of: CacheLayout.temporary) != nil else { return nil }
        return try FileDescriptor.directory(
            CacheLayout.temporary, beneath: cache.root, create: false)
    }

    /// Takes the lock of a run that has ended; nil if it is under way, or gone.
    private static func lock(_ name: String, beneath parent: FileDescriptor) -> FileDescriptor? {
        guard
            let run = try? FileDescriptor.open(
                name, beneath: parent, flags: O_RDONLY | O_DIRECTORY),
            flock(run.raw, LOCK_EX | LOCK_NB) == 0
        else { return nil }
        return run
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
