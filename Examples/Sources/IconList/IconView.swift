#if canImport(SwiftUI)
    import LarderIcons
    import SwiftUI

    /// An icon or a placeholder. The request is cancelled when the row disappears.
    struct IconView: View {
        let url: URL
        @State private var image: CGImage?
        @State private var failure: IconFailure?
        @Environment(\.displayScale) private var scale

        private let side: CGFloat = 44

        var body: some View {
            Group {
                if let image {
                    Image(decorative: image, scale: scale)
                } else {
                    Image(systemName: failure == nil ? "app.dashed" : "exclamationmark.triangle")
                }
            }
            .frame(width: side, height: side)
            .task(id: url) {
                (image, failure) = (nil, nil)
                do {
                    image = try await Icons.loader.image(
                        for: url, fitting: CGSize(width: side, height: side), scale: scale,
                        priority: .veryHigh)
                } catch {
                    failure = error as? IconFailure
                }
            }
        }
    }

    /// A list of apps that prefetches the icons of the next rows.
    struct IconList: View {
        let apps: [App]
        private let ahead = 20

        var body: some View {
            List(Array(apps.enumerated()), id: \.element) { row, app in
                HStack {
                    IconView(url: app.icon)
                    Text(app.name)
                }
                .onAppear { Icons.loader.prefetch(rows(after: row)) }
                .onDisappear { Icons.loader.stopPrefetching([app.icon]) }
            }
        }

        private func rows(after row: Int) -> [URL] {
            apps[min(row + 1, apps.count)..<min(row + 1 + ahead, apps.count)].map(\.icon)
        }
    }
#endif
