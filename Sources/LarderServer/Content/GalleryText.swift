import LarderCache
import LarderGallery
import NIOCore

/// A script of the gallery, as it is sent.
struct GalleryText: Sendable {
    let bytes: ByteBuffer
    /// Of the bytes; nil if there are soon to be others.
    let digest: Digest?
    /// Whether what has its name never changes.
    let isUnchanging: Bool

    init(bytes: ByteBuffer, digest: Digest?, isUnchanging: Bool) {
        (self.bytes, self.digest, self.isUnchanging) = (bytes, digest, isUnchanging)
    }

    /// What is sent in place of the description.
    init(inPlace file: GalleryFile) {
        self.init(bytes: ByteBuffer(bytes: file.bytes), digest: nil, isUnchanging: false)
    }
}
