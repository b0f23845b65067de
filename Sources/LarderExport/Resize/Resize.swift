import LarderCache
import LarderCore
import LarderImages

/// The size at which icons are shown: a length in points, and the scales of the devices.
package struct Resize: Sendable {
    package static let allowedPoints = 1...1024
    package static let allowedScales = 1...4

    /// The length of the longest side at a scale of 1, in pixels.
    package let points: Int
    /// In ascending order.
    package let scales: [Int]

    package init(points: Int, scales: Set<Int>) {
        precondition(
            Self.allowedPoints.contains(points) && !scales.isEmpty
                && scales.allSatisfy(Self.allowedScales.contains), "invalid size")
        self.points = points
        self.scales = scales.sorted()
    }

    /// Returns the scales and longest sides, in pixels, of the images to make from an icon; none
    /// for vector graphics, which fit any size.
    func sizes(of object: StoredObject, largestOnly: Bool) -> [(scale: Int?, side: Int)] {
        guard let format = ImageFormat.of(mediaType: object.mediaType), !format.isVector,
            format.isResizable
        else { return [] }
        return largestOnly
            ? [(nil, points * scales[scales.count - 1])] : scales.map { ($0, points * $0) }
    }
}

/// One file of an exported icon: the icon itself, or the icon in a different size.
struct Rendition {
    /// The scale, if the icon has a file for each scale.
    let scale: Int?
    let digest: Digest
    let size: Int64
    let mediaType: String?
    let width: Int?
    let height: Int?
    /// The cached icon; nil if resized.
    let original: StoredObject?
    /// The bytes of a resized icon that this export has made.
    let bytes: [UInt8]?

    init(_ object: StoredObject, scale: Int? = nil) {
        self.scale = scale
        (digest, size, mediaType) = (object.digest, object.size, object.mediaType)
        (width, height) = (object.width, object.height)
        (original, bytes) = (object, nil)
    }

    init(_ image: ResizedImage, _ type: MediaType, scale: Int?, bytes: [UInt8]?) {
        self.scale = scale
        (digest, size, mediaType) = (image.digest, image.size, type.rawValue)
        (width, height) = (image.width, image.height)
        (original, self.bytes) = (nil, bytes)
    }

    /// Returns the name of the file in a layout with readable names, as UIKit expects it.
    func file(_ stem: String) -> String {
        let mark = scale.map { $0 > 1 ? "@\($0)x" : "" } ?? ""
        return "\(stem)\(mark).\(ImageFile.suffix(of: mediaType))"
    }

    /// Returns the stem of a file name without an extension. Safe names do not contain `@`.
    static func stem(withoutScale name: String) -> String {
        let tail = Array(name.utf8.suffix(3))
        guard tail.count == 3, tail[0] == UInt8(ascii: "@"), tail[2] == UInt8(ascii: "x"),
            (UInt8(ascii: "2")...UInt8(ascii: "4")).contains(tail[1])
        else { return name }
        return String(decoding: name.utf8.dropLast(3), as: UTF8.self)
    }
}
