import Foundation
import LarderCore

typealias RunFile = (name: String, descriptor: FileDescriptor)

/// A run's directory in `tmp/`. Later runs sweep it, because its lock ends with the process.
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

extension CacheDirectory {
    func oldestRunStart(except own: String?) throws(CacheError) -> Date? {
        var oldest: UInt64?
        for (parent, name) in try temporaries() where name != own {
            let parts = name.split(separator: "-")
            guard parts.count == 3, parts[0] == "run", let start = UInt64(parts[1], radix: 36),
                parent.lockAbandoned(name) == nil, try parent.status(of: name) != nil
            else { continue }
            oldest = min(oldest ?? start, start)
        }
        return oldest.map { Date(timeIntervalSince1970: Double($0) / 1000) }
    }

    @discardableResult
    func sweepRuns(isDryRun: Bool = false) throws(CacheError) -> ObjectTally {
        var swept = ObjectTally()
        for (parent, name) in try temporaries() where name.hasPrefix("run-") {
            guard let run = parent.lockAbandoned(name) else { continue }
            let removed = try parent.removeTree(name, isDryRun: isDryRun)
            withExtendedLifetime(run) {}
            if removed.isGone { swept.count += 1 }
            swept.bytes += removed.bytes
        }
        return swept
    }

    static func isQuarantined(_ name: String) -> Bool {
        let parts = name.split(separator: "-", omittingEmptySubsequences: false)
        guard parts.count == 2, UInt64(parts[1], radix: 36) != nil else { return false }
        let former = String(parts[0])
        return Digest(hex: former)?.hex == former || ObjectTree.isFanOut(former)
    }

    /// Moves a file to `quarantine/` and returns its new path, or nil if its inode has changed.
    func quarantine(
        _ name: String, from parent: FileDescriptor, inode: ino_t
    ) throws(CacheError) -> String? {
        let quarantine = try root.directory(CacheLayout.quarantine, create: true)
        guard try parent.status(of: name)?.st_ino == inode else { return nil }
        let target = "\(name)-\(String(UInt64.random(in: .min ... .max), radix: 36))"
        guard renameat(parent.raw, name, quarantine.raw, target) == 0 else {
            if errno == ENOENT { return nil }
            throw parent.failure("rename", of: name)
        }
        guard try quarantine.status(of: target)?.st_ino == inode else {
            try quarantine.rename(target, to: parent, as: name)
            return nil
        }
        let place = "\(CacheLayout.quarantine)/\(target)"
        log(.warning, "moved \(parent.path(of: name)) to \(place)")
        return place
    }
}
