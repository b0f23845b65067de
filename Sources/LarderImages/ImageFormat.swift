import LarderCore

/// An image format with its names and checks.
///
/// To add a format, declare a static constant in a new file and list it in ``all``.
package struct ImageFormat: Sendable {
    /// The accepted formats, in matching order.
    package static let all: [ImageFormat] = [
        .png, .jpeg, .gif, .webp, .ico, .bmp, .svg, .avif, .heic,
    ]

    package let mediaType: MediaType
    /// File extensions, most common first.
    package let suffixes: [String]
    /// Whether Xcode's `actool` accepts the format in an image set.
    package var isForAssetCatalogs = false
    package var isVector = false
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
}
