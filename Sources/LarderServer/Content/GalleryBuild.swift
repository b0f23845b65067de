import Foundation
import LarderCache
import LarderGallery
import NIOCore

/// What describes all icons for the gallery, as of one moment.
final class GalleryBuild: Sendable {
    private struct Part {
        let start: Int64
        let length: Int
        let digest: Digest
    }

    private let file: LarderCache.FileDescriptor
    private let parts: [[UInt8]: Part]

    /// Makes it; takes seconds for many icons.
    init(_ reader: CacheReader, _ configuration: ServerConfiguration) throws {
        let place = try reader.reading { cache in
            let place = try Place(reader)
            let gallery = Gallery(
                of: cache, manifests: configuration.manifests.map(\.source),
                rules: configuration.manifestRules)
            try gallery.write(to: place, isNamedByContent: true)
            return place
        }
        (file, parts) = (place.file, place.parts)
    }

    /// Whether it has a file of that path.
    func has(_ path: String) -> Bool { parts[Array(path.utf8)] != nil }

    /// A file of it; nil if it has none of that path.
    func text(of path: String) throws -> GalleryText? {
        guard let part = parts[Array(path.utf8)] else { return nil }
        var buffer = ByteBufferAllocator().buffer(capacity: part.length)
        while buffer.readableBytes < part.length {
            let bytes = try file.read(
                at: part.start + Int64(buffer.readableBytes),
                atMost: part.length - buffer.readableBytes)
            guard !bytes.isEmpty else {
                throw CacheError("read", subject: file.subject, errno: EIO)
            }
            buffer.writeBytes(bytes)
        }
        return GalleryText(
            bytes: buffer, digest: part.digest,
            isUnchanging: !path.isSame(as: GalleryFile.catalogue))
    }

    private final class Place: GalleryPlace {
        let objects = "objects/sha256/"
        let file: LarderCache.FileDescriptor
        private(set) var parts: [[UInt8]: Part] = [:]
        private let reader: CacheReader
        private var end: Int64 = 0

        init(_ reader: CacheReader) throws {
            self.reader = reader
            file = try LarderCache.FileDescriptor.unnamed()
        }

        func address(of object: StoredObject) throws -> String? {
            do {
                _ = try reader.file(of: object)
                return object.digest.hex
            } catch let error as CacheError where error.code == .corrupt {
                return nil
            }
        }

        func write(_ made: GalleryFile) throws {
            try file.write(made.bytes)
            parts[Array(made.path.utf8)] = Part(
                start: end, length: made.bytes.count, digest: Digest(of: made.bytes))
            end += Int64(made.bytes.count)
        }
    }
}
