/// What a check of the bytes found out about them.
public struct ObjectAttributes: Sendable, Equatable {
    /// The media type by content; nil if it is not a known image.
    public var mediaType: String?
    /// The width in pixels, if the format has one.
    public var width: Int?
    /// The height in pixels, if the format has one.
    public var height: Int?

    /// Attributes; all unknown by default.
    public init(mediaType: String? = nil, width: Int? = nil, height: Int? = nil) {
        self.mediaType = mediaType
        self.width = width
        self.height = height
    }
}

extension StoredObject {
    /// What a check of the bytes found out when they were stored.
    public var attributes: ObjectAttributes {
        ObjectAttributes(mediaType: mediaType, width: width, height: height)
    }
}
