import LarderCache
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
