// Not yet compiled on Apple's platforms.
#if canImport(SwiftUI)
    import LarderIcons
    import SwiftUI

    /// A SwiftUI list of apps that prefetches the icons of the next rows.
    struct IconList: View {
        let apps: [App]
        private let ahead = 20

        var body: some View {
            List(Array(apps.enumerated()), id: \.element) { row, app in
                HStack {
                    IconView(app.icon)
                    Text(app.name)
                }
                .onAppear { IconLoader.shared.prefetch(rows(after: row)) }
                .onDisappear { IconLoader.shared.stopPrefetching([app.icon]) }
            }
        }

        private func rows(after row: Int) -> [URL] {
            apps[min(row + 1, apps.count)..<min(row + 1 + ahead, apps.count)].map(\.icon)
        }
    }
#endif
