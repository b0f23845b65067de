import Foundation
import LarderCore

/// The files in `objects/sha256`, whether or not they are in the index.
struct ObjectTree {
    struct Entry {
        let parent: FileDescriptor
        let name: String
        fileprivate let isHome: Bool

        var path: String { parent.path(of: name) }
        var digest: Digest? { isHome ? named : nil }
        var misplaced: Digest? { isHome ? nil : named }
        // On most file systems, a name in upper case is a different file, not an object.
        private var named: Digest? { Digest(hex: name).flatMap { $0.hex == name ? $0 : nil } }
    }

    private let directory: CacheDirectory

    init(_ directory: CacheDirectory) { self.directory = directory }

    func walk(
        onRefusal: (CacheError) throws(CacheError) -> Void = { (error) throws(CacheError) in
            throw error
        },
        _ body: (Entry) throws(CacheError) -> Void
    ) throws(CacheError) {
        guard let root = try root() else { return }
        for name in try root.names() {
            guard name.isHex(2), try root.status(of: name)?.isDirectory == true else {
                try body(Entry(parent: root, name: name, isHome: false))
                continue
            }
            do throws(CacheError) {
                try Self.walk(fanOut: name, beneath: root, body)
            } catch  where error.errno == EACCES { try onRefusal(error) }
        }
    }

    func root() throws(CacheError) -> FileDescriptor? {
        do { return try directory.objects() } catch  where error.errno == ENOENT { return nil }
    }

    static func walk(
        fanOut name: String, beneath root: FileDescriptor,
        _ body: (Entry) throws(CacheError) -> Void
    ) throws(CacheError) {
        let fanOut = try root.directory(name)
        for file in try fanOut.names() {
            try body(Entry(parent: fanOut, name: file, isHome: file.hasPrefix(name)))
        }
    }
}

/// A file reader that reuses its buffer, because allocation takes longer than reading a small file.
package final class ObjectReader {
    private let buffer = UnsafeMutableRawBufferPointer.allocate(byteCount: 1 << 18, alignment: 16)
    private let budget: SparseBudget

    package init(_ budget: SparseBudget = SparseBudget()) { self.budget = budget }
    deinit { buffer.deallocate() }

    /// Returns a file's digest and size, or nil if cancelled. Throws ``CacheError/isSparse`` if the
    /// file exceeds the budget. A file with the `expected` digest does not use up the budget.
    package func digest(
        _ file: FileDescriptor, expecting expected: Digest? = nil,
        isCancelled: () -> Bool = { false },
        onBytes: (UnsafeRawBufferPointer) throws(CacheError) -> Void = { _ in }
    ) throws(CacheError) -> (digest: Digest, count: Int64)? {
        let status = try file.status()
        let excess = try budget.take(status, of: file.subject, isLent: expected != nil)
        var isReturned = false
        defer { if expected != nil { budget.settle(excess, isLent: true, isReturned) } }
        let limit = max(Int64(status.st_size), status.plausibleBytes)
        var hasher = RunningDigest()
        var count: Int64 = 0
        while true {
            let read = try file.read(into: buffer)
            if read == 0 { break }
            if count > 0, isCancelled() {
                isReturned = true
                return nil
            }
            count += Int64(read)
            guard count <= limit else {
                throw CacheError(sparse: file.subject, size: count, status)
            }
            let bytes = UnsafeRawBufferPointer(rebasing: buffer[..<read])
            hasher.update(bytes)
            try onBytes(bytes)
        }
        let digest = hasher.digest
        isReturned = digest == expected
        return (digest, count)
    }
}

/// A check for the existence of object files, with one system call per file.
package final class ObjectPresence: @unchecked Sendable {
    // Unchecked because no lock guards its variables. Use it on one thread or serial queue.
    private let directory: CacheDirectory
    private var tree: FileDescriptor?
    /// Whether the fan-out directory of each leading byte is known not to be a link.
    private var canEnter = [Bool](repeating: false, count: 256)

    init(in directory: CacheDirectory) { self.directory = directory }

    package func arePresent(_ objects: [(Digest, Int64)]) throws(CacheError) -> [Bool] {
        try objects.map { (object) throws(CacheError) in
            let (digest, size) = object
            let found = try self.size(of: digest)
            return found == size || found != nil && directory.isWhole(digest)
        }
    }

    func absent(_ digests: some Collection<Digest>) throws(CacheError) -> Set<Digest> {
        // Another process may have replaced the directory since the last call.
        tree = nil
        var absent: Set<Digest> = []
        for digest in digests where try size(of: digest) == nil { absent.insert(digest) }
        return absent
    }

    func size(of digest: Digest) throws(CacheError) -> Int64? {
        do throws(CacheError) {
            let tree = if let tree { tree } else { try directory.objects() }
            self.tree = tree
            guard try canEnter(digest, in: tree) else { return nil }
            let status = try tree.status(of: digest.treePath)
            return status.flatMap { $0.isRegularFile ? Int64($0.st_size) : nil }
        } catch  where error.isAbsence || error.errno == EACCES && tree != nil { return nil }
    }

    private func canEnter(_ digest: Digest, in tree: FileDescriptor) throws(CacheError) -> Bool {
        if canEnter[Int(digest.firstByte)] { return true }
        do throws(CacheError) {
            _ = try tree.directory(CacheLayout.fanOut(digest))
        } catch  where error.isOutOfReach { return false }
        canEnter[Int(digest.firstByte)] = true
        return true
    }
}
