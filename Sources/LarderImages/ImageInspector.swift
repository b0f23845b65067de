/// Tells a whole image from everything else: a server's error page with status 200, a cut file.
package enum ImageInspector {
    /// Recognises an image by its content, never by a name or a Content-Type, and checks that it is
    /// whole: all of its structure, and every checksum that its format has. Pixels are not decoded.
    /// Bytes after a format's own end mark are ignored if decoders ignore them.
    package static func inspect(_ bytes: UnsafeRawBufferPointer) throws(ImageError) -> ImageInfo {
        guard !bytes.isEmpty else {
            throw ImageError(code: .empty, mediaType: nil, message: "0 bytes")
        }
        guard let format = ImageFormat.of(bytes) else {
            throw .notAnImage(ContentGuess.describe(bytes))
        }
        return try format.inspect(bytes)
    }
}

package struct ImageInfo: Sendable, Equatable {
    package let mediaType: MediaType
    /// In pixels; nil if the file states no size, as an SVG may.
    package let width: Int?
    package let height: Int?

    package init(mediaType: MediaType, width: Int? = nil, height: Int? = nil) {
        self.mediaType = mediaType
        self.width = width
        self.height = height
    }
}

package struct ImageError: Error, Sendable, Equatable, CustomStringConvertible {
    package enum Code: String, Sendable, CaseIterable {
        case empty
        /// The content is not of a format in ``ImageFormat/all``.
        case notAnImage = "not-an-image"
        /// The image starts well and ends too early.
        case truncated
        /// The image contradicts itself or its format's rules.
        case damaged
    }

    package let code: Code
    /// The format that the content claims to be; nil if there is none.
    package let mediaType: MediaType?
    /// The fault in words. It quotes nothing unprintable.
    package let message: String

    package var description: String { message }

    static func notAnImage(_ content: String) -> ImageError {
        ImageError(code: .notAnImage, mediaType: nil, message: "\(content), not an image")
    }

    static func truncated(_ type: MediaType, _ message: String) -> ImageError {
        ImageError(code: .truncated, mediaType: type, message: "\(type.name) \(message)")
    }

    static func damaged(_ type: MediaType, _ message: String) -> ImageError {
        ImageError(code: .damaged, mediaType: type, message: "\(type.name) \(message)")
    }
}
