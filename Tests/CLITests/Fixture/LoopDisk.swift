import Foundation
import LarderTestSupport
import Synchronization

/// A disk whose power can be cut: a file that is a loop device. It needs root on Linux.
final class LoopDisk: Sendable {
    enum Kind: String, CaseIterable { case ext4, xfs }

    /// The mount point.
    let path: String
    private let device = Mutex("")
    private let file: String
    private let kind: Kind

    struct Failure: Error {
        let finished: Finished
    }

    /// Creates a file system and mounts it. The file is in memory if possible: after a power cut,
    /// data that has reached the device survives, wherever the device keeps it.
    ///
    /// - Parameter blockSize: The block size of ext4. If nil, `mkfs` chooses it.
    init(_ kind: Kind, at path: String, blockSize: Int? = nil) throws {
        self.path = path
        self.kind = kind
        let memory = "/dev/shm"
        let isInMemory = FileManager.default.isWritableFile(atPath: memory)
        file = "\(isInMemory ? memory : path + "/..")/larder-disk-\(UUID().uuidString)"
        try FileManager.default.createDirectory(atPath: path, withIntermediateDirectories: true)
        do {
            // XFS needs at least 300 MB, but uses little of it.
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

    /// Cuts the power. Nothing reaches the disk any more, and calls that would write fail with EIO.
    func cutPower() {
        // XFS_IOC_GOINGDOWN, which ext4 supports too. With 2, the log is not flushed either.
        let goingDown: UInt = 0x8004_587D
        var withoutFlush: UInt32 = 2
        let root = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC)
        guard root >= 0 else { return }
        defer { close(root) }
        _ = ioctl(root, goingDown, &withoutFlush)
    }

    /// Drops all data in memory and mounts the disk again. No process may have a file open.
    func restart() throws {
        try unmount()
        // A new loop device, because mount namespaces created since then still have the old one
        // mounted.
        detach()
        try mount()
    }

    func flush() throws { try Self.command("sync", "--file-system", path) }

    /// Makes the file system read-only at once, as the kernel does after an error in ext4.
    func turnReadOnly() throws {
        try Self.command("mount", "-o", "remount,abort", path)
    }

    private func mount() throws {
        let device = try Self.command("losetup", "--find", "--show", file)
            .standardOutput.trimmingCharacters(in: .newlines)
        self.device.withLock { $0 = device }
        try Self.command("mount", ["-o", kind == .xfs ? "nouuid" : "defaults", device, path])
    }

    /// Unmounts the disk. It can be busy, because a child of another test has copies of this process's
    /// descriptors until it executes its program.
    private func unmount() throws {
        let end = ContinuousClock.now + .seconds(10)
        while true {
            do { return _ = try Self.command("umount", path) } catch let failure as Failure {
                let isBusy = failure.finished.standardError.contains("busy")
                guard isBusy, ContinuousClock.now < end else { throw failure }
            }
        }
    }

    private func detach() { _ = try? Self.command("losetup", "--detach", device.withLock { $0 }) }

    @discardableResult
    private static func command(_ name: String, _ arguments: String...) throws -> Finished {
        try command(name, arguments)
    }

    @discardableResult
    private static func command(_ name: String, _ arguments: [String]) throws -> Finished {
        let finished = try RunningProcess(
            "/usr/bin/env", ["LC_ALL=C", "PATH=/usr/sbin:/usr/bin:/sbin:/bin", name] + arguments
        ).wait()
        guard finished.status == 0 else { throw Failure(finished: finished) }
        return finished
    }

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
