// Not yet compiled on Apple's platforms.
#if canImport(ImageIO)
    import Foundation
    import ImageIO

    extension MemoryCache.Entry {
        /// Decodes the icon at the given size. Returns nil if the system cannot decode the format,
        /// for example SVG. Decoding is slow, so do not call this function on the main thread.
        ///
        /// - Parameters:
        ///   - pointSize: The maximum width and height, in points. Smaller icons are not enlarged.
        ///   - scale: The number of pixels per point, as in `UITraitCollection.displayScale`.
        public func image(pointSize: CGFloat, scale: CGFloat) -> CGImage? {
            let pixels = pointSize * scale
            guard pixels >= 1, pixels.isFinite,
                let source = CGImageSourceCreateWithData(
                    data as CFData, [kCGImageSourceShouldCache: false] as CFDictionary)
            else { return nil }
            return CGImageSourceCreateThumbnailAtIndex(
                source, 0,
                [
                    kCGImageSourceCreateThumbnailFromImageAlways: true,
                    kCGImageSourceCreateThumbnailWithTransform: true,
                    kCGImageSourceShouldCacheImmediately: true,
                    kCGImageSourceThumbnailMaxPixelSize: min(pixels, 16_384),
                ] as CFDictionary)
        }
    }

    extension IconLoader {
        /// Loads an icon like ``icon(for:priority:)``, and decodes it like
        /// ``MemoryCache/Entry/image(pointSize:scale:)``, but never on the main thread. Throws an
        /// ``IconFailure`` with the code `unreadable` if the system cannot decode the icon.
        public func image(
            for url: URL, pointSize: CGFloat, scale: CGFloat, priority: IconPriority = .normal
        ) async throws -> CGImage {
            let entry = try await icon(for: url, priority: priority)
            try Task.checkCancellation()
            // Functions that are async and not isolated do not run on the main thread (SE-0338).
            guard let image = entry.image(pointSize: pointSize, scale: scale) else {
                throw IconFailure(.unreadable, url: url, "the system cannot decode the image")
            }
            return image
        }
    }
#endif
