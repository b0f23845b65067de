import Foundation
import LarderCore

/// A response body being received. A body larger than ``memoryLimit`` bytes is written to a file on
/// another queue, so that the receiving thread never waits for the disk.
package final class StagedBody: @unchecked Sendable {
    // Unchecked because `lock` guards the variables, except for `hasher` and `file`, which belong
    // to the serial queue `writer` until `finish` has waited for the queue.

    package static let memoryLimit = 64 * 1024
    /// The number of unwritten bytes at which the transfer pauses.
    static let backlogLimit = 512 * 1024
    /// The size of the buffer. It has room for one piece beyond the limit, so it never grows.
    private static let capacity = memoryLimit + 16 * 1024

    /// All bodies share these queues, because each queue takes a thread.
    static let writers = (1...4).map { DispatchQueue(label: "larder.writer.\($0)") }
    private static let begun = Counter(0)
    private let run: RunDirectory
    private let onDrained: @Sendable () -> Void
    private let lock = NSLock()
    private var buffer: [UInt8] = []
    private var received: Int64 = 0
    private var backlog = 0
    private var isStalled = false
    private var failure: CacheError?
    private var writer: DispatchQueue?

    private var hasher = RunningDigest()
    private var file: RunFile?

    init(run: RunDirectory, expecting expected: Int?, onDrained: @escaping @Sendable () -> Void) {
        (self.run, self.onDrained) = (run, onDrained)
        if let expected { buffer.reserveCapacity(max(0, min(expected, Self.capacity))) }
    }

    package init(
        continuing partial: PartialBody, onDrained: @escaping @Sendable () -> Void
    ) throws(CacheError) {
        run = partial.run
        self.onDrained = onDrained
        (file, hasher) = try partial.handOver()
        received = partial.trailer.count
        writer = Self.nextWriter()
    }

    deinit { if let file { run.remove(file.name) } }

    package var count: Int64 { lock.withLock { received } }

    /// Appends bytes. Returns false if the body is full; try again after `onDrained`. Throws the
    /// error of an earlier write.
    package func append(_ bytes: UnsafeRawBufferPointer) throws(CacheError) -> Bool {
        lock.lock()
        defer { lock.unlock() }
        if let failure { throw failure }
        if writer != nil, backlog >= Self.backlogLimit {
            isStalled = true
            return false
        }
        if buffer.isEmpty, writer != nil { buffer.reserveCapacity(Self.capacity) }
        buffer.append(contentsOf: bytes)
        received += Int64(bytes.count)
        if buffer.count > Self.memoryLimit { spill() }
        return true
    }

    private func spill() {
        let chunk = buffer
        buffer = []
        backlog += chunk.count
        if writer == nil { writer = Self.nextWriter() }
        writer?.async { [self] in write(chunk) }
    }

    private static func nextWriter() -> DispatchQueue { writers[begun.next() % writers.count] }

    private func write(_ chunk: [UInt8]) {
        hasher.update(chunk)
        do throws(CacheError) {
            if file == nil { file = try create() }
            try file?.descriptor.write(chunk)
        } catch { lock.withLock { failure = failure ?? error } }
        let resume = lock.withLock {
            backlog -= chunk.count
            guard isStalled, backlog <= Self.backlogLimit / 2 else { return false }
            isStalled = false
            return true
        }
        if resume { onDrained() }
    }

    private func create() throws(CacheError) -> RunFile {
        let name = run.uniqueName()
        let flags = O_RDWR | O_CREAT | O_EXCL
        return (name, try run.directory.open(name, flags: flags, mode: 0o600))
    }

    /// Waits for the writer, and returns the digest. Call once, after the last byte.
    package func finish() throws(CacheError) -> Digest {
        if let writer = lock.withLock({ self.writer }) {
            lock.withLock { if !buffer.isEmpty { spill() } }
            writer.sync {}
        } else {
            hasher.update(buffer)
        }
        if let failure = lock.withLock({ self.failure }) { throw failure }
        return hasher.digest
    }

    /// Calls `body` with all bytes. Call this after ``finish()``.
    package func withBytes<Value>(
        _ body: (UnsafeRawBufferPointer) throws -> Value
    ) throws -> Value {
        guard let file else { return try buffer.withUnsafeBytes(body) }
        let size = Int(count)
        let mapped = mmap(nil, size, PROT_READ, MAP_PRIVATE, file.descriptor.raw, 0)
        guard mapped != MAP_FAILED, let mapped else { throw file.descriptor.failure("mmap") }
        defer { munmap(mapped, size) }
        return try body(UnsafeRawBufferPointer(start: mapped, count: size))
    }

    func takeFile() throws(CacheError) -> String {
        let isInMemory = file == nil
        let (name, descriptor) = if let file { file } else { try create() }
        file = (name, descriptor)
        if isInMemory { try descriptor.write(buffer) }
        // Objects are readable by all users, regardless of the umask.
        try descriptor.setMode(0o444)
        file = nil
        return name
    }

    /// Returns the unfinished file, which the caller then owns; nil if the body is in memory.
    func takeUnfinished() throws(CacheError) -> (file: RunFile, digest: Digest)? {
        guard lock.withLock({ writer }) != nil else { return nil }
        let digest = try finish()
        guard let file else { return nil }
        try file.descriptor.setMode(0o600)
        self.file = nil
        return (file, digest)
    }
}
