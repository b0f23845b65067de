#if canImport(ImageIO)
    import Foundation
    import ImageIO

    extension MemoryCache.Entry {
        /// Returns the icon decoded to fit `size`, or nil if the system cannot decode the format,
        /// for example SVG. At full size, 4,000 × 4,000 pixels take 64 MB. Decoding is slow, so do
        /// not call this function on the main thread.
        ///
        /// - Parameters:
        ///   - size: The maximum size, in points. Smaller icons are not enlarged.
        ///   - scale: The number of pixels per point, as in `UIScreen.scale`. Default: 1.
        public func image(fitting size: CGSize, scale: CGFloat = 1) -> CGImage? {
            let pixels = max(size.width, size.height) * scale
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
        /// Loads an icon and decodes it like `MemoryCache.Entry.image(fitting:scale:)`.
        ///
        /// - Throws: ``IconFailure`` (`unreadable` if the system cannot decode the icon),
        ///   `CancellationError`.
        public func image(
            for url: URL, fitting size: CGSize, scale: CGFloat = 1,
            priority: IconPriority = .normal
        ) async throws -> CGImage {
            let entry = try await icon(for: url, priority: priority)
            // Detached because the caller may be on the main thread.
            let image = await Task.detached(priority: .userInitiated) {
                entry.image(fitting: size, scale: scale)
            }.value
            guard let image else {
                throw IconFailure(.unreadable, url: url, "the system cannot decode the image")
            }
            return image
        }
    }
#endif
