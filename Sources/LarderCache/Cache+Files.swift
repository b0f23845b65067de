import CLarderSystem
import Foundation
import GRDB
import LarderCore

extension Cache {
    /// The maximum size in bytes of objects verified in memory. Larger objects are read twice.
    private static let memoryLimit = 1 << 20

    package func forEachPiece(
        of object: StoredObject, _ body: (UnsafeRawBufferPointer) throws -> Void
    ) throws {
        let object = sized(object)
        if object.size <= Self.memoryLimit {
            return try data(of: object, unlessKnown: nil).data.withUnsafeBytes(body)
        }
        let file = try openFile(object.digest)
        _ = try confirm(file, is: object)
        var failure: (any Error)?
        let again = try reader().digest(
            file, expecting: object.digest, isCancelled: { failure != nil }
        ) { (bytes) throws(CacheError) in
            do { try body(bytes) } catch { failure = error }
        }
        if let failure { throw failure }
        guard again?.digest == object.digest else { throw Self.otherDigest(object.digest) }
    }

    /// Opens an object's file and checks its digest. The caller closes the descriptor.
    package func descriptor(of object: StoredObject) throws(CacheError) -> Int32 {
        let file = try directory.open(object.digest)
        _ = try confirm(file, is: object)
        return try file.duplicate()
    }

    package func confirm(
        _ file: FileDescriptor, is object: StoredObject, isCancelled: () -> Bool = { false }
    ) throws(CacheError) -> Bool {
        let read = try reader().digest(file, expecting: object.digest, isCancelled: isCancelled)
        guard let read else { return false }
        guard read.digest == object.digest else { throw Self.otherDigest(object.digest) }
        guard lseek(file.raw, 0, SEEK_SET) == 0 else { throw file.failure("seek") }
        return true
    }

    /// Opens an object's file without waiting for the disk (since Linux 5.12). Returns nil if the
    /// kernel has not cached the path, or if the file's identity is not `known`.
    package func lendAtOnce(_ digest: Digest, size: Int64, known: FileIdentity) -> LentFile? {
        #if os(Linux)
            let path = CacheLayout.path(digest)
            let raw = larder_open_cached(root.raw, path)
            guard raw >= 0 else { return nil }
            let file = LentFile(FileDescriptor(taking: raw, subject: path), size: size)
            return file.isStill(known) ? file : nil
        #else
            return nil
        #endif
    }

    package var root: FileDescriptor { directory.root }

    package static func usersDirectory(_ path: String) throws(CacheError) -> FileDescriptor {
        let path = URL(fileURLWithPath: path).standardizedFileURL.path
        do throws(CacheError) {
            return try FileDescriptor.open(path, flags: O_RDONLY | O_DIRECTORY)
        } catch  where error.errno == ENOENT {
            throw CacheError(.missing, subject: path, message: "the directory does not exist")
        }
    }

    package static func nearestDirectory(to path: String) throws(CacheError) -> FileDescriptor {
        do throws(CacheError) {
            return try usersDirectory(path)
        } catch  where error.code == .missing && !path.parentDirectory.isSame(as: path) {
            return try nearestDirectory(to: path.parentDirectory)
        }
    }

    /// Creates a hard link to an object's file. Returns `errno` on failure. The caller must check
    /// the linked file, because another process may have replaced it.
    package func link(
        _ digest: Digest, to directory: FileDescriptor, as name: String
    ) throws(CacheError) -> Int32? {
        let fanOut = try self.directory.fanOut(digest)
        return linkat(fanOut.raw, digest.hex, directory.raw, name, 0) == 0 ? nil : errno
    }

    package func outgoing(_ object: StoredObject) throws(CacheError) -> LentFile {
        let object = sized(object)
        let file = try open(object).file
        _ = try confirm(file, is: object)
        return LentFile(file, size: object.size)
    }

    /// Returns a manifest's resource, file and URL after redirects. The caller closes the file.
    package func manifest(
        _ url: HTTPURL
    ) throws(CacheError) -> (resource: Resource, file: (descriptor: Int32, baseURL: HTTPURL))? {
        guard let resource = try resource(url.key) else { return nil }
        let base = (try? HTTPURL(resource.responseURL)) ?? url
        do throws(CacheError) {
            let file = (descriptor: try descriptor(of: resource.object), baseURL: base)
            return (resource, file)
        } catch  where error.isOfDamagedObject { return nil }
    }
}

/// An open object file, which remains readable after an eviction.
package final class LentFile: Sendable {
    package let size: Int64
    private let file: FileDescriptor

    package init(_ file: FileDescriptor, size: Int64) {
        (self.file, self.size) = (file, size)
    }

    package func isStill(_ known: FileIdentity) -> Bool {
        (try? file.status()).map { FileIdentity($0) == known } ?? false
    }

    package var isShortened: Bool { (try? file.status()).map { $0.st_size < size } ?? true }

    package func descriptor() throws(CacheError) -> Int32 { try file.duplicate() }

    /// Reads up to the end of the object. Returns nil on failure or if the file is too short.
    package func read(at offset: Int64, upTo buffer: UnsafeMutableRawBufferPointer) -> Int? {
        let count = Int(min(Int64(buffer.count), max(0, size - offset)))
        let room = UnsafeMutableRawBufferPointer(rebasing: buffer[..<count])
        return (try? file.read(at: offset, into: room)) == count ? count : nil
    }

    /// Fills the buffer. Returns false on failure, or if `atOnce` is true and reading would wait.
    package func read(
        at offset: Int64, into buffer: UnsafeMutableRawBufferPointer, atOnce: Bool = false
    ) -> Bool {
        guard atOnce else { return (try? file.read(at: offset, into: buffer)) == buffer.count }
        #if os(Linux)
            var filled = 0
            while filled < buffer.count {
                let rest = UnsafeMutableRawBufferPointer(rebasing: buffer[filled...])
                let count = larder_read_cached(
                    file.raw, rest.baseAddress, UInt(rest.count), offset + Int64(filled))
                if count < 0, errno == EINTR { continue }
                guard count > 0 else { return false }
                filled += count
            }
            return true
        #else
            return false
        #endif
    }
}
