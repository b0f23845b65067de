import Foundation

/// An icon as its server sent it.
public struct FetchedIcon: Sendable {
    /// The whole body, decoded.
    public var data: Data
    /// The media type by content, such as `image/png`; nil if it is not known.
    public var mediaType: String?
    /// The response's header fields: `ETag`, `Cache-Control` and others are stored with it.
    public var headers: [(name: String, value: String)]
    /// Where redirects have led; nil if there were none.
    public var responseURL: String?

    /// An icon of these bytes. By default, nothing else is known of it.
    public init(
        data: Data, mediaType: String? = nil, headers: [(name: String, value: String)] = [],
        responseURL: String? = nil
    ) {
        self.data = data
        self.mediaType = mediaType
        self.headers = headers
        self.responseURL = responseURL
    }

    /// The values of a header field, by its name in any case.
    func values(of name: String) -> [String] {
        headers.filter { $0.name.lowercased() == name.lowercased() }.map(\.value)
    }
}
