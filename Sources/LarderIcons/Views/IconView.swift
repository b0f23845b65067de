// Not yet compiled on Apple's platforms.
#if canImport(SwiftUI) && canImport(ImageIO)
    import SwiftUI

    /// A square view of an icon, with a symbol until it is loaded, and a different symbol if the
    /// load fails. The load has a very high priority, and is cancelled when the view disappears.
    public struct IconView: View {
        private let url: URL
        private let pointSize: CGFloat
        private let loader: IconLoader
        /// The result of the last load. The image is nil after a failure.
        @State private var shown: (url: URL, image: CGImage?)?
        @Environment(\.displayScale) private var scale

        /// Creates a view with the width and height `pointSize`, in points.
        public init(_ url: URL, pointSize: CGFloat = 44, loader: IconLoader = .shared) {
            (self.url, self.pointSize, self.loader) = (url, pointSize, loader)
        }

        /// The icon or a symbol.
        public var body: some View {
            Group {
                if let shown, shown.url == url, let image = shown.image {
                    Image(decorative: image, scale: scale).resizable().scaledToFit()
                } else {
                    let hasFailed = shown.map { $0.url == url } ?? false
                    Image(systemName: hasFailed ? "exclamationmark.triangle" : "app.dashed")
                }
            }
            .frame(width: pointSize, height: pointSize)
            .task(id: "\(pointSize * scale) \(url)") {
                let image = try? await loader.image(
                    for: url, pointSize: pointSize, scale: scale, priority: .veryHigh)
                if !Task.isCancelled { shown = (url, image) }
            }
        }
    }
#endif
