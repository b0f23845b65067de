import LarderCore

/// An image format: how its files are named, recognised and validated. A format is one file that
/// declares its row, and the row's place in ``all``.
package struct ImageFormat: Sendable {
    /// The formats that count as an icon, in the order in which they are tried.
    package static let all: [ImageFormat] = [
        .png, .jpeg, .gif, .webp, .ico, .bmp, .svg, .avif, .heic,
    ]

    package let mediaType: MediaType
    /// The suffixes of its files, the usual one first.
    package let suffixes: [String]
    /// Whether Xcode's `actool` compiles it as an image of an image set.
    package let isForAssetCatalogs: Bool
    package let isVector: Bool
    let inspect: @Sendable (UnsafeRawBufferPointer) throws(ImageError) -> ImageInfo
    let recognises: @Sendable (UnsafeRawBufferPointer) -> Bool

    init(
        _ mediaType: MediaType, suffixes: [String], isForAssetCatalogs: Bool = false,
        isVector: Bool = false,
        inspect: @escaping @Sendable (UnsafeRawBufferPointer) throws(ImageError) -> ImageInfo,
        _ recognises: @escaping @Sendable (UnsafeRawBufferPointer) -> Bool
    ) {
        self.mediaType = mediaType
        self.suffixes = suffixes
        self.isForAssetCatalogs = isForAssetCatalogs
        self.isVector = isVector
        self.inspect = inspect
        self.recognises = recognises
    }

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
    /// The format's name in a sentence.
    package let name: String

    init(_ rawValue: String, name: String) {
        self.rawValue = rawValue
        self.name = name
    }
}
