/// What is known of an image that was found whole.
package struct ImageInfo: Sendable, Equatable {
    /// The format, recognised by content.
    package let mediaType: MediaType
    /// The width in pixels; nil if the file states none, as an SVG may.
    package let width: Int?
    /// The height in pixels; nil if the file states none, as an SVG may.
    package let height: Int?

    /// Describes an image; without a size unless one is given.
    package init(mediaType: MediaType, width: Int? = nil, height: Int? = nil) {
        self.mediaType = mediaType
        self.width = width
        self.height = height
    }
}
