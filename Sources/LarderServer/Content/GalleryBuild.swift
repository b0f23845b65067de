import Foundation
import LarderCache
import LarderCore
import LarderExport
import NIOCore

/// What describes all icons for the gallery, as of one moment.
final class GalleryBuild: Sendable {
    private struct Part {
        let range: Range<Int64>
        let digest: Digest
    }

    /// What slow readers take of it costs no memory.
    private let file: LentFile
    private let parts: [[UInt8]: Part]

    /// Makes it; takes seconds for many icons.
    init(_ reader: CacheReader, _ configuration: ServerConfiguration) throws {
        let place = try reader.cache.using { cache in
            let place = try Place(reader)
            let gallery = Gallery(
                of: cache, manifests: configuration.manifests.map(\.source),
                rules: configuration.manifestRules)
            try gallery.write(to: place, isNamedByContent: true)
            return place
        }
        file = LentFile(place.file, size: place.end)
        parts = place.parts
    }

    /// Whether it has a file of that path.
    func has(_ path: String) -> Bool { parts[Array(path.utf8)] != nil }

    /// A file of it; nil if it has none of that path.
    func text(of path: String) -> GalleryText? {
        guard let part = parts[Array(path.utf8)] else { return nil }
        return GalleryText(
            .file(file, part.range), digest: part.digest,
            isUnchanging: !path.isSame(as: GalleryFile.catalogue))
    }

    private final class Place: GalleryPlace {
        let objects = "objects/sha256/"
        let file: LarderCache.FileDescriptor
        private(set) var parts: [[UInt8]: Part] = [:]
        private let reader: CacheReader
        private(set) var end: Int64 = 0

        init(_ reader: CacheReader) throws {
            self.reader = reader
            file = try LarderCache.FileDescriptor.unnamed()
        }

        func address(of object: StoredObject) throws -> String? {
            do {
                _ = try reader.file(of: object)
                return object.digest.hex
            } catch let error as CacheError where error.isOfObject {
                return nil
            }
        }

        func write(_ made: GalleryFile) throws {
            try file.write(made.bytes)
            let start = end
            end += Int64(made.bytes.count)
            parts[Array(made.path.utf8)] = Part(
                range: start..<end, digest: Digest(of: made.bytes))
        }
    }
}
