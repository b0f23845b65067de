/// The image formats that count as an icon, each with its registered media type.
package enum MediaType: String, Sendable, CaseIterable {
    /// Portable Network Graphics, animated ones included.
    case png = "image/png"
    /// JPEG, baseline and progressive.
    case jpeg = "image/jpeg"
    /// GIF 87a and 89a.
    case gif = "image/gif"
    /// WebP: lossy, lossless, extended and animated.
    case webp = "image/webp"
    /// AV1 in a HEIF container.
    case avif = "image/avif"
    /// HEVC in a HEIF container.
    case heic = "image/heic"
    /// Windows icons.
    case ico = "image/vnd.microsoft.icon"
    /// Windows and OS/2 bitmaps.
    case bmp = "image/bmp"
    /// SVG documents, uncompressed.
    case svg = "image/svg+xml"

    /// The format's name in a sentence.
    package var name: String {
        switch self {
        case .png: "PNG"
        case .jpeg: "JPEG"
        case .gif: "GIF"
        case .webp: "WebP"
        case .avif: "AVIF"
        case .heic: "HEIC"
        case .ico: "ICO"
        case .bmp: "BMP"
        case .svg: "SVG"
        }
    }
}
