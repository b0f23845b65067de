// Not yet compiled on Apple's platforms.
#if canImport(UIKit) && canImport(ImageIO) && !os(watchOS)
    import UIKit

    /// A table cell with an icon in its image view.
    ///
    ///     let cell = tableView.dequeueReusableCell(withIdentifier: "icon", for: path)
    ///     (cell as? IconCell)?.show(apps[path.row].icon, pointSize: 60)
    ///
    /// Pass the URLs of upcoming rows to ``IconLoader/prefetch(_:)`` of the loader that cells use.
    open class IconCell: UITableViewCell {
        private var loading: Task<Void, Never>?

        /// Shows an icon of at most `pointSize` points, with a symbol until it is loaded, and a
        /// different symbol if the load fails. The load has a very high priority, and is cancelled
        /// when the cell is reused or released.
        public func show(_ url: URL, pointSize: CGFloat = 44, loader: IconLoader = .shared) {
            loading?.cancel()
            imageView?.image = UIImage(systemName: "app.dashed")
            // The scale can be 0 outside a window.
            let scale = max(1, traitCollection.displayScale)
            loading = Task { [weak self] in
                let image = try? await loader.image(
                    for: url, pointSize: pointSize, scale: scale, priority: .veryHigh)
                guard let self, !Task.isCancelled else { return }
                imageView?.image =
                    image.map { UIImage(cgImage: $0, scale: scale, orientation: .up) }
                    ?? UIImage(systemName: "exclamationmark.triangle")
                setNeedsLayout()
            }
        }

        deinit { loading?.cancel() }

        /// Cancels the load and removes the icon, because the next row may have no icon.
        open override func prepareForReuse() {
            super.prepareForReuse()
            loading?.cancel()
            imageView?.image = nil
        }
    }
#endif
