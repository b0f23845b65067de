import LarderCache
import LarderKit

/// What an image's file ends with, and who takes it.
enum ImageFile {
    /// The usual extension of a media type; `bin` if it is not an image.
    static func suffix(of mediaType: String?) -> String {
        switch mediaType.flatMap(MediaType.init) {
        case .png: "png"
        case .jpeg: "jpg"
        case .gif: "gif"
        case .webp: "webp"
        case .avif: "avif"
        case .heic: "heic"
        case .ico: "ico"
        case .bmp: "bmp"
        case .svg: "svg"
        case nil: "bin"
        }
    }

    /// Whether it is one of those.
    static func isSuffix(_ text: String) -> Bool {
        text.isSame(as: suffix(of: nil))
            || MediaType.allCases.contains { text.isSame(as: suffix(of: $0.rawValue)) }
    }

    /// Whether Xcode's `actool` compiles it as an image of an image set.
    static func isForAssetCatalog(_ mediaType: String?) -> Bool {
        switch mediaType.flatMap(MediaType.init) {
        case .png, .jpeg, .heic, .svg: true
        case .gif, .webp, .avif, .ico, .bmp, nil: false
        }
    }
}
