import CLarderSystem
import Foundation
import GRDB
import LarderCore

extension Cache {
    /// The maximum bytes held in memory until the digest is known. A larger object is read twice.
    private static let largestHeld = 1 << 20

    /// Hands over an object's bytes in pieces, in little memory, once they have its digest.
    package func forEachPiece(
        of object: StoredObject, _ body: (UnsafeRawBufferPointer) throws -> Void
    ) throws {
        let file = try openFile(object.digest)
        let reader = reader()
        var held: [UInt8] = []
        var count = 0
        let read = try reader.digest(file, expecting: object.digest, isCancelled: { false }) {
            (bytes) throws(CacheError) in
            if count + bytes.count <= Self.largestHeld { held += bytes }
            count += bytes.count
        }
        guard read?.digest == object.digest else { throw Self.otherDigest(object.digest) }
        if count == held.count { return try held.withUnsafeBytes(body) }
        guard lseek(file.raw, 0, SEEK_SET) == 0 else { throw file.failure("seek") }
        var failure: (any Error)?
        let again = try reader.digest(
            file, expecting: object.digest, isCancelled: { failure != nil }
        ) { (bytes) throws(CacheError) in
            do { try body(bytes) } catch { failure = error }
        }
        if let failure { throw failure }
        // An owner who writes to the file in place.
        guard again?.digest == object.digest else { throw Self.otherDigest(object.digest) }
    }

    /// Returns a checked descriptor of an object too long for ``bytes(of:)``. Callers close it.
    package func descriptor(of object: StoredObject) throws(CacheError) -> Int32 {
        let file = try directory.open(object.digest)
        _ = try confirm(file, is: object)
        let descriptor = fcntl(file.raw, F_DUPFD_CLOEXEC, 0)
        guard descriptor >= 0, lseek(descriptor, 0, SEEK_SET) == 0 else {
            throw CacheError("open", subject: "\(object.digest)", errno: errno)
        }
        return descriptor
    }

    /// Compares a file with the digest of an object. Returns false if that was cancelled.
    package func confirm(
        _ file: FileDescriptor, is object: StoredObject, isCancelled: () -> Bool = { false }
    ) throws(CacheError) -> Bool {
        let read = try reader().digest(file, expecting: object.digest, isCancelled: isCancelled)
        guard let read else { return false }
        guard read.digest == object.digest else { throw Self.otherDigest(object.digest) }
        return true
    }

    /// Returns an object's file if it is the `known` one and opens without waiting for a disk.
    package func lendAtOnce(_ digest: Digest, size: Int64, known: FileIdentity) -> LentFile? {
        guard let file = directory.openAtOnce(digest), let status = try? file.status(),
            FileIdentity(status) == known
        else { return nil }
        return LentFile(file, size: size)
    }

    package static func indexFile(ofCacheAt path: String) -> FileIdentity? {
        FileIdentity(path: "\(path)/\(CacheLayout.index)")
    }
}

/// An open file that is sent. It stays, whatever an eviction removes meanwhile.
package final class LentFile: Sendable {
    package let size: Int64
    private let file: FileDescriptor

    package init(_ file: FileDescriptor, size: Int64) {
        self.file = file
        self.size = size
    }

    package func isStill(_ known: FileIdentity) -> Bool {
        (try? file.status()).map { FileIdentity($0) == known } ?? false
    }

    package var isShortened: Bool { (try? file.status()).map { $0.st_size < size } ?? true }

    package func descriptor() throws(CacheError) -> Int32 {
        let copy = fcntl(file.raw, F_DUPFD_CLOEXEC, 0)
        guard copy >= 0 else { throw file.failure("open") }
        return copy
    }

    /// Fills `buffer` from `offset` on; false if there are fewer bytes, or not at once as demanded.
    package func read(
        at offset: Int64, into buffer: UnsafeMutableRawBufferPointer, atOnce: Bool = false
    ) -> Bool {
        var filled = 0
        while filled < buffer.count {
            let rest = UnsafeMutableRawBufferPointer(rebasing: buffer[filled...])
            let place = offset + Int64(filled)
            let count =
                atOnce
                ? Self.readAtOnce(file.raw, rest, place)
                : pread(file.raw, rest.baseAddress, rest.count, off_t(place))
            if count < 0, errno == EINTR { continue }
            guard count > 0 else { return false }
            filled += count
        }
        return true
    }

    private static func readAtOnce(
        _ file: Int32, _ room: UnsafeMutableRawBufferPointer, _ offset: Int64
    ) -> Int {
        #if os(Linux)
            larder_read_cached(file, room.baseAddress, UInt(room.count), offset)
        #else
            -1
        #endif
    }
}

extension Cache {
    package var root: FileDescriptor { directory.root }

    package static func usersDirectory(_ path: String) throws(CacheError) -> FileDescriptor {
        let path = URL(fileURLWithPath: path).standardizedFileURL.path
        do throws(CacheError) {
            return try FileDescriptor.open(path, flags: O_RDONLY | O_DIRECTORY)
        } catch  where error.errno == ENOENT {
            throw CacheError(.missing, subject: path, message: "there is no such directory")
        }
    }

    /// The directory at a path of the user's own, or the one that it would be made in.
    package static func nearestDirectory(to path: String) throws(CacheError) -> FileDescriptor {
        do throws(CacheError) {
            return try usersDirectory(path)
        } catch  where error.code == .missing {
            let parent = path.parentDirectory
            // "/" and "." are their own parents.
            guard !parent.isSame(as: path) else { throw error }
            return try nearestDirectory(to: parent)
        }
    }

    /// Gives an object's file another name outside the cache; returns nil, or the system's error
    /// number. Compare the file afterwards: it may have been replaced.
    package func link(
        _ digest: Digest, to directory: FileDescriptor, as name: String
    ) throws(CacheError) -> Int32? {
        let fanOut = try self.directory.fanOut(digest)
        return linkat(fanOut.raw, digest.hex, directory.raw, name, 0) == 0 ? nil : errno
    }
}

/// An object that is sent in pieces, and compared with its digest before the last piece is sent.
package final class OutgoingObject: @unchecked Sendable {
    // Unchecked because the state is variables; every access holds `lock`.

    package let size: Int64
    private let digest: Digest
    private let file: FileDescriptor
    private let lock = NSLock()
    private var hasher = RunningDigest()
    private var place: Int64 = 0
    private var isDamaged = false

    init(_ object: StoredObject, file: FileDescriptor) {
        size = object.size
        digest = object.digest
        self.file = file
    }

    package var isCorrupt: Bool { lock.withLock { isDamaged } }

    /// Reads the next piece at `offset`, or from 0; nil if it is unreadable or not the digest's.
    package func read(at offset: Int64, into buffer: UnsafeMutableRawBufferPointer) -> Int? {
        lock.withLock {
            if offset == 0 { (hasher, place) = (RunningDigest(), 0) }
            guard offset == place, !isDamaged else { return nil }
            let wanted = Int(min(Int64(buffer.count), size - offset))
            let room = UnsafeMutableRawBufferPointer(rebasing: buffer[..<max(0, wanted)])
            guard let count = try? file.read(at: offset, into: room) else { return nil }
            hasher.update(UnsafeRawBufferPointer(rebasing: buffer[..<count]))
            place += Int64(count)
            isDamaged = count != wanted || place == size && hasher.digest != digest
            return isDamaged ? nil : count
        }
    }
}

extension Cache {
    package func outgoing(_ object: StoredObject) throws(CacheError) -> OutgoingObject {
        let object = sized(object)
        let file = try open(object).file
        // A sparse file is digested first: its size cost nothing. Reads have their own offsets.
        let status = try file.status()
        if status.st_size > status.plausibleBytes { _ = try confirm(file, is: object) }
        return OutgoingObject(object, file: file)
    }

    package struct KeptManifest: Sendable {
        package let resource: Resource
        /// The file, compared with its digest, and its URL after redirects. Callers close it.
        package let file: (descriptor: Int32, baseURL: HTTPURL)
    }

    /// Returns the manifest of a URL; nil if it is not there, or not whole.
    package func manifest(_ url: HTTPURL) throws(CacheError) -> KeptManifest? {
        guard let resource = try resource(url.key) else { return nil }
        let descriptor: Int32
        do throws(CacheError) {
            descriptor = try self.descriptor(of: resource.object)
        } catch {
            guard error.isOfDamagedObject else { throw error }
            return nil
        }
        let base = (try? HTTPURL(resource.responseURL)) ?? url
        return KeptManifest(resource: resource, file: (descriptor, base))
    }
}
