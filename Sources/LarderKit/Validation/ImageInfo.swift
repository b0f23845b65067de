/// What is known of an image that was found whole.
public struct ImageInfo: Sendable, Equatable {
    /// The format, recognised by content.
    public let mediaType: MediaType
    /// The width in pixels; nil where the file states none, as an SVG may.
    public let width: Int?
    /// The height in pixels; nil where the file states none, as an SVG may.
    public let height: Int?

    /// Describes an image; without a size unless one is given.
    public init(mediaType: MediaType, width: Int? = nil, height: Int? = nil) {
        self.mediaType = mediaType
        self.width = width
        self.height = height
    }
}
