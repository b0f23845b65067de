// Not yet compiled on Apple's platforms.
#if canImport(UIKit) && !os(watchOS)
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
            let app = apps[path.row]
            cell.textLabel?.text = app.name
            (cell as? IconCell)?.show(app.icon)
            return cell
        }

        func tableView(_ view: UITableView, prefetchRowsAt paths: [IndexPath]) {
            IconLoader.shared.prefetch(paths.map { apps[$0.row].icon })
        }

        func tableView(_ view: UITableView, cancelPrefetchingForRowsAt paths: [IndexPath]) {
            IconLoader.shared.stopPrefetching(paths.map { apps[$0.row].icon })
        }
    }
#endif
