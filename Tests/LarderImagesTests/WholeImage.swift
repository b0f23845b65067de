import LarderImages
import LarderTestSupport

/// A whole image of each format, with two kinds of WebP.
enum WholeImage: CaseIterable, Sendable {
    case png, jpeg, gif, webp, webpLossy, avif, heic, ico, bmp, svg

    var bytes: [UInt8] {
        switch self {
        case .png: IconPainter.png(seed: 3, size: 16)
        case .jpeg: IconPainter.jpeg(seed: 3, size: 16)
        case .gif: IconPainter.gif(seed: 3, size: 16)
        case .webp: IconPainter.webp
        case .webpLossy: IconPainter.webpLossy
        case .avif: IconPainter.avif
        case .heic: IconPainter.heic
        case .ico: IconPainter.ico(seed: 3, size: 32)
        case .bmp: IconPainter.bmp(seed: 3, size: 16)
        // Without the last line feed, so that every byte is needed.
        case .svg: IconPainter.svg(seed: 3, size: 16).dropLast(1)
        }
    }

    var info: ImageInfo {
        switch self {
        case .png: ImageInfo(mediaType: .png, width: 16, height: 16)
        case .jpeg: ImageInfo(mediaType: .jpeg, width: 16, height: 16)
        case .gif: ImageInfo(mediaType: .gif, width: 16, height: 16)
        case .webp, .webpLossy: ImageInfo(mediaType: .webp, width: 64, height: 64)
        case .avif: ImageInfo(mediaType: .avif, width: 64, height: 64)
        case .heic: ImageInfo(mediaType: .heic, width: 64, height: 64)
        case .ico: ImageInfo(mediaType: .ico, width: 32, height: 32)
        case .bmp: ImageInfo(mediaType: .bmp, width: 16, height: 16)
        case .svg: ImageInfo(mediaType: .svg, width: 16, height: 16)
        }
    }

    /// The number of bytes from which a truncated file is recognised as its format.
    var recognisableLength: Int {
        switch self {
        case .png, .gif, .ico: 4
        case .jpeg: 3
        case .webp, .webpLossy: 12
        case .avif, .heic: 16
        case .bmp: 18
        case .svg: 43
        }
    }
}
