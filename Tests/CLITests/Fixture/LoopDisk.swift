import Foundation
import LarderTestSupport
import Synchronization

/// A disk of its own for a test, whose power can be cut: a file as a loop device, as root on Linux.
final class LoopDisk: Sendable {
    enum Kind: String, CaseIterable { case ext4, xfs }

    /// Where it is mounted.
    let path: String
    private let device = Mutex("")
    private let file: String
    private let kind: Kind

    struct Failure: Error {
        let finished: Finished
    }

    /// Makes a file system and mounts it. In memory where there is room, since what the device was
    /// given is what survives, wherever it is kept.
    ///
    /// - Parameter blockSize: of ext4; nil leaves it to `mkfs`.
    init(_ kind: Kind, at path: String, blockSize: Int? = nil) throws {
        self.path = path
        self.kind = kind
        let memory = "/dev/shm"
        let isInMemory = FileManager.default.isWritableFile(atPath: memory)
        file = "\(isInMemory ? memory : path + "/..")/larder-disk-\(UUID().uuidString)"
        try FileManager.default.createDirectory(atPath: path, withIntermediateDirectories: true)
        do {
            // XFS takes no less than 300 MB; hardly any of it is used.
            try Self.command("truncate", "--size", "512M", file)
            let blocks = blockSize.map { ["-b", "\($0)"] } ?? []
            try Self.command(
                "mkfs.\(kind)", ["-q", kind == .xfs ? "-f" : "-F"] + blocks + [file])
        } catch {
            unlink(file)
            throw error
        }
        do { try mount() } catch {
            detach()
            unlink(file)
            throw error
        }
    }

    deinit {
        _ = try? Self.command("umount", "--lazy", path)
        detach()
        unlink(file)
    }

    /// From now on nothing reaches the disk, and every call that would says EIO.
    func cutPower() {
        // XFS_IOC_GOINGDOWN, which ext4 has, too; 2: the log is not flushed either.
        let goingDown: UInt = 0x8004_587D
        var withoutFlush: UInt32 = 2
        let root = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC)
        guard root >= 0 else { return }
        defer { close(root) }
        _ = ioctl(root, goingDown, &withoutFlush)
    }

    /// Forgets all that is in memory, and comes back with what the disk has. Nobody may have a file
    /// open.
    func restart() throws {
        try Self.command("umount", path)
        // Another device: whoever has made a mount namespace meanwhile has the old one mounted
        // still, as dead as it is.
        detach()
        try mount()
    }

    /// Writes down all that is in memory.
    func flush() throws { try Self.command("sync", "--file-system", path) }

    /// What the kernel does to ext4 that has found an error: read-only, in the middle of
    /// everything.
    func turnReadOnly() throws {
        try Self.command("mount", "-o", "remount,abort", path)
    }

    private func mount() throws {
        let device = try Self.command("losetup", "--find", "--show", file)
            .standardOutput.trimmingCharacters(in: .newlines)
        self.device.withLock { $0 = device }
        try Self.command("mount", ["-o", kind == .xfs ? "nouuid" : "defaults", device, path])
    }

    private func detach() { _ = try? Self.command("losetup", "--detach", device.withLock { $0 }) }

    @discardableResult
    private static func command(_ name: String, _ arguments: String...) throws -> Finished {
        try command(name, arguments)
    }

    @discardableResult
    private static func command(_ name: String, _ arguments: [String]) throws -> Finished {
        let finished = try RunningProcess(
            "/usr/bin/env", ["PATH=/usr/sbin:/usr/bin:/sbin:/bin", name] + arguments
        ).wait()
        guard finished.status == 0 else { throw Failure(finished: finished) }
        return finished
    }

    /// Whether this machine has the means.
    static func isPossible(_ kind: Kind) -> Bool {
        #if os(Linux)
            guard geteuid() == 0 else { return false }
            return
                (try? withTemporaryDirectory { directory in
                    _ = try LoopDisk(kind, at: directory.path("probe"))
                }) != nil
        #else
            return false
        #endif
    }
}
