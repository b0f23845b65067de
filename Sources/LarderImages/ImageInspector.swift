package enum ImageInspector {
    /// Recognises an image by its content, never by its name or Content-Type. Checks the structure
    /// and checksums, but decodes no pixels. Ignores bytes after the end marker if decoders do.
    package static func inspect(_ bytes: UnsafeRawBufferPointer) throws(ImageError) -> ImageInfo {
        guard !bytes.isEmpty
        else { throw ImageError(code: .empty, mediaType: nil, message: "0 bytes") }
        guard let format = ImageFormat.of(bytes)
        else { throw .notAnImage(ContentGuess.describe(bytes)) }
        return try format.inspect(bytes)
    }
}

package struct ImageInfo: Sendable, Equatable {
    package let mediaType: MediaType
    package let width: Int?
    package let height: Int?
    package let isAnimated: Bool

    package init(
        mediaType: MediaType, width: Int? = nil, height: Int? = nil, isAnimated: Bool = false
    ) {
        self.mediaType = mediaType
        self.width = width
        self.height = height
        self.isAnimated = isAnimated
    }
}

package struct ImageError: Error, Sendable, Equatable, CustomStringConvertible {
    package enum Code: String, Sendable, CaseIterable {
        case empty
        case notAnImage = "not-an-image"
        case truncated
        case damaged
    }

    package let code: Code
    package let mediaType: MediaType?
    /// The reason, in printable characters.
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
