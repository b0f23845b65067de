#if canImport(UIKit)
    import LarderIcons
    import UIKit

    /// A UIKit list of apps.
    final class IconTableController: UITableViewController, UITableViewDataSourcePrefetching {
        private let apps: [App]

        init(apps: [App]) {
            self.apps = apps
            super.init(style: .plain)
        }

        @available(*, unavailable)
        required init?(coder: NSCoder) { nil }

        override func viewDidLoad() {
            super.viewDidLoad()
            tableView.register(IconCell.self, forCellReuseIdentifier: "icon")
            tableView.prefetchDataSource = self
        }

        override func tableView(_ view: UITableView, numberOfRowsInSection section: Int) -> Int {
            apps.count
        }

        override func tableView(
            _ view: UITableView, cellForRowAt path: IndexPath
        ) -> UITableViewCell {
            let cell = view.dequeueReusableCell(withIdentifier: "icon", for: path)
            (cell as? IconCell)?.show(apps[path.row])
            return cell
        }

        func tableView(_ view: UITableView, prefetchRowsAt paths: [IndexPath]) {
            Icons.loader.prefetch(paths.map { apps[$0.row].icon })
        }

        func tableView(_ view: UITableView, cancelPrefetchingForRowsAt paths: [IndexPath]) {
            Icons.loader.stopPrefetching(paths.map { apps[$0.row].icon })
        }
    }

    final class IconCell: UITableViewCell {
        private var loading: Task<Void, Never>?

        func show(_ app: App) {
            textLabel?.text = app.name
            imageView?.image = UIImage(systemName: "app.dashed")
            loading?.cancel()
            loading = Task { [weak self] in
                let image = try? await Icons.loader.image(
                    for: app.icon, fitting: CGSize(width: 44, height: 44),
                    scale: UIScreen.main.scale, priority: .veryHigh)
                // A reused cell cancels the task.
                guard let image, !Task.isCancelled else { return }
                self?.imageView?.image = UIImage(cgImage: image)
                self?.setNeedsLayout()
            }
        }

        override func prepareForReuse() {
            super.prepareForReuse()
            loading?.cancel()
        }
    }
#endif
