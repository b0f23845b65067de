import LarderCore

package struct ImageFormat: Sendable {
    /// All formats, in the order in which they are tried.
    package static let all: [ImageFormat] = [
        ImageFormat(
            mediaType: .png, suffixes: ["png"], isForAssetCatalogs: true,
            inspect: PNGStructure.inspect
        ) { $0.starts(with: PNGStructure.signature.prefix(4)) },
        ImageFormat(
            mediaType: .jpeg, suffixes: ["jpg", "jpeg"], isForAssetCatalogs: true,
            inspect: JPEGStructure.inspect
        ) { $0.starts(with: [0xFF, 0xD8, 0xFF]) },
        ImageFormat(mediaType: .gif, suffixes: ["gif"], inspect: GIFStructure.inspect) {
            $0.starts(with: "GIF8".utf8)
        },
        ImageFormat(mediaType: .webp, suffixes: ["webp"], inspect: WebPStructure.inspect) {
            $0.starts(with: "RIFF".utf8) && $0.dropFirst(8).starts(with: "WEBP".utf8)
        },
        ImageFormat(
            mediaType: .ico, suffixes: ["ico"], isResizable: false, inspect: ICOStructure.inspect
        ) { $0.starts(with: [0, 0, 1, 0]) },
        ImageFormat(
            mediaType: .bmp, suffixes: ["bmp"], isResizable: false, inspect: BMPStructure.inspect,
            recognises: BMPStructure.recognises),
        ImageFormat(
            mediaType: .svg, suffixes: ["svg"], isForAssetCatalogs: true, isVector: true,
            inspect: SVGStructure.inspect, recognises: SVGStructure.recognises),
        ImageFormat(mediaType: .avif, suffixes: ["avif"], inspect: HEIFStructure.inspect) {
            HEIFStructure.recognise($0) == .avif
        },
        ImageFormat(
            mediaType: .heic, suffixes: ["heic"], isForAssetCatalogs: true,
            inspect: HEIFStructure.inspect
        ) { HEIFStructure.recognise($0) == .heic },
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
