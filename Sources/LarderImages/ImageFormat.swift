import LarderCore

package struct ImageFormat: Sendable {
    /// All formats, in the order in which they are tried.
    package static let all: [ImageFormat] = [
        .png, .jpeg, .gif, .webp, .ico, .bmp, .svg, .avif, .heic,
    ]

    package let mediaType: MediaType
    /// The file name suffixes, the most common first.
    package let suffixes: [String]
    /// Whether Xcode's `actool` accepts the format in an image set.
    package var isForAssetCatalogs = false
    package var isVector = false
    /// Whether `vipsthumbnail` reads the format from an untrusted source.
    package var isResizable = true
    let inspect: @Sendable (UnsafeRawBufferPointer) throws(ImageError) -> ImageInfo
    let recognises: @Sendable (UnsafeRawBufferPointer) -> Bool

    package static func of(_ bytes: UnsafeRawBufferPointer) -> ImageFormat? {
        all.first { $0.recognises(bytes) }
    }

    package static func of(mediaType: String?) -> ImageFormat? {
        guard let mediaType else { return nil }
        return all.first { $0.mediaType.rawValue.isSame(as: mediaType) }
    }
}

package struct MediaType: Equatable, Sendable {
    package let rawValue: String
    package let name: String

    package static let png = MediaType(rawValue: "image/png", name: "PNG")
    package static let jpeg = MediaType(rawValue: "image/jpeg", name: "JPEG")
    package static let gif = MediaType(rawValue: "image/gif", name: "GIF")
    package static let webp = MediaType(rawValue: "image/webp", name: "WebP")
    package static let ico = MediaType(rawValue: "image/vnd.microsoft.icon", name: "ICO")
    package static let bmp = MediaType(rawValue: "image/bmp", name: "BMP")
    package static let svg = MediaType(rawValue: "image/svg+xml", name: "SVG")
    package static let avif = MediaType(rawValue: "image/avif", name: "AVIF")
    package static let heic = MediaType(rawValue: "image/heic", name: "HEIC")
}
