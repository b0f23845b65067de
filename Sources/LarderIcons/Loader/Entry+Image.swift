#if canImport(ImageIO)
    import Foundation
    import ImageIO

    extension MemoryCache.Entry {
        /// Returns the decoded icon, no larger than it is shown: a photo of 4,000 × 4,000 pixels
        /// would take 64 MB. Slow, so do not call it on the main thread. Nil if the system cannot
        /// decode the image (for example SVG).
        ///
        /// - Parameters:
        ///   - size: Maximum size, in points. Smaller icons are not enlarged.
        ///   - scale: Pixels per point, as `UIScreen.scale`. Default: 1.
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
        /// Loads and decodes the icon, see `MemoryCache.Entry.image(fitting:scale:)`.
        ///
        /// - Throws: ``IconFailure`` (`unreadable` if the system cannot decode it),
        ///   `CancellationError`.
        public func image(
            for url: URL, fitting size: CGSize, scale: CGFloat = 1,
            priority: IconPriority = .normal
        ) async throws -> CGImage {
            let entry = try await icon(for: url, priority: priority)
            // Detached, since the caller may be on the main thread.
            let image = await Task.detached(priority: .userInitiated) {
                entry.image(fitting: size, scale: scale)
            }.value
            guard let image else {
                throw IconFailure(.unreadable, url: url, "the system cannot decode it")
            }
            return image
        }
    }
#endif
