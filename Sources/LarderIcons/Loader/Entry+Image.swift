#if canImport(ImageIO)
    import Foundation
    import ImageIO

    extension MemoryCache.Entry {
        /// The icon decoded, and no larger than is shown: a photo of 4,000 pixels a side would take
        /// 64 MB. Takes a while, so not on the main thread. Nil if the bytes are not an image that
        /// the system decodes (SVG is not).
        ///
        /// - Parameters:
        ///   - size: what it must fit into, in points. Smaller icons are not enlarged.
        ///   - scale: pixels per point, as `UIScreen.scale`. Default: 1.
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
        /// The icon decoded, and no larger than is shown.
        ///
        /// - Parameters:
        ///   - size: what it must fit into, in points.
        ///   - scale: pixels per point, as `UIScreen.scale`. Default: 1.
        ///   - priority: what has the higher one is got first. Default: normal.
        /// - Throws: ``IconFailure``, `unreadable` if the system cannot decode it;
        ///   `CancellationError`.
        public func image(
            for url: URL, fitting size: CGSize, scale: CGFloat = 1,
            priority: IconPriority = .normal
        ) async throws -> CGImage {
            let entry = try await icon(for: url, priority: priority)
            // Elsewhere than the caller, which may be the main thread.
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
