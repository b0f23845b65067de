import LarderCache
import LarderGallery
import NIOCore

/// A script of the gallery, as it is sent.
struct GalleryText: Sendable {
    let body: Response.Body
    /// Of the bytes; nil if there are soon to be others.
    let digest: Digest?
    /// Whether what has its name never changes.
    let isUnchanging: Bool

    init(_ body: Response.Body, digest: Digest?, isUnchanging: Bool) {
        (self.body, self.digest, self.isUnchanging) = (body, digest, isUnchanging)
    }

    /// A small file that is at hand.
    ///
    /// - Parameter digest: of its bytes; nil if it is only sent in place of another.
    init(_ file: GalleryFile, digest: Digest?) {
        self.init(.bytes(ByteBuffer(bytes: file.bytes)), digest: digest, isUnchanging: false)
    }
}
