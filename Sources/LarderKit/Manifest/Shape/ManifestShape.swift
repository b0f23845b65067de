/// A form that manifests are found in, as data: where the entries are, and where their parts are in
/// each.
struct ManifestShape: Equatable, Sendable {
    /// What `--explain` calls it.
    let name: String
    /// Where its entries are, from the root on; the root's own path is that of a manifest which is
    /// itself an entry.
    var entries: [ManifestPath]
    /// What tells it from others: an element that has a value at one of these is of this shape.
    var marks: [ManifestPath]
    /// Where an entry's name is; the first that is there counts.
    var names: [ManifestPath]
    /// Where its icons are; all that are there count.
    var icons: [IconPlace]
    /// Where the address is that icons are relative to, from the root on. It has to come before the
    /// entries, and a manifest without it is of another shape.
    var base: ManifestPath?
    /// Whether `integrity`, `sha256` and `size` beside an icon are about the icon's bytes.
    var hasDigests = false
    /// Where the priority is.
    var priority: ManifestPath?
    /// Where the digest is, if not beside the icon.
    var integrity: ManifestPath?
    /// Where the resource's identity is.
    var key: ManifestPath?

    /// Where an icon is in an entry.
    struct IconPlace: Equatable, Sendable {
        let path: ManifestPath
        /// What the URL is made of, behind the shape's base: `{}` stands for the value, `{*}` for
        /// the name that `.*` was, `{name}` for a member of the entry. Nil: it is the value.
        var template: String?
    }
}

extension ManifestShape {
    /// Where lists of all kinds have a name.
    static let usualNames: [ManifestPath] = ["name", "title", "label"]

    /// A shape whose marks are its icons.
    init(
        _ name: String, _ entries: [ManifestPath], marks: [ManifestPath]? = nil,
        names: [ManifestPath] = usualNames, icons: [IconPlace],
        base: ManifestPath? = nil, hasDigests: Bool = false
    ) {
        self.init(
            name: name, entries: entries, marks: marks ?? icons.map(\.path), names: names,
            icons: icons, base: base, hasDigests: hasDigests)
    }

    /// Whether an element is of this shape.
    func matches(_ element: ManifestValue) -> Bool {
        marks.contains { $0.first(in: element) != nil }
    }
}

extension ManifestShape.IconPlace: ExpressibleByStringLiteral {
    init(stringLiteral path: String) { self.init(path: ManifestPath(stringLiteral: path)) }
}
