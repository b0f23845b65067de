/// A known form of manifests: the paths to entries and their members.
struct ManifestShape: Equatable, Sendable {
    let name: String
    /// The paths from the root to entries. `$` means that the manifest itself is an entry.
    var entries: [ManifestPath]
    /// The paths that identify the shape. Every element matches at least one path.
    var marks: [ManifestPath]
    var names: [ManifestPath]
    var icons: [IconPlace]
    /// The path from the root to the icons' base URL, if the shape requires a base URL. The base
    /// URL must precede the entries.
    var base: ManifestPath?
    /// Whether `integrity`, `sha256` and `size` next to an icon describe the icon.
    var hasDigests = false
    var priority: ManifestPath?
    var integrity: ManifestPath?
    var key: ManifestPath?
    /// The template of the URL for entries without icons.
    var template: IconTemplate?

    struct IconPlace: Equatable, Sendable {
        let path: ManifestPath
        /// The template of a URL relative to ``base``. `{}` is the value, `{*}` is the name that
        /// `.*` matched, and `{name}` is a member of the entry. Nil means that the value is the
        /// URL.
        var template: String?
    }
}

extension ManifestShape {
    static let usualNames: [ManifestPath] = ["name", "title", "label"]

    init(
        _ name: String, _ entries: [ManifestPath], marks: [ManifestPath]? = nil,
        names: [ManifestPath] = usualNames, icons: [IconPlace],
        base: ManifestPath? = nil, hasDigests: Bool = false
    ) {
        self.init(
            name: name, entries: entries, marks: marks ?? icons.map(\.path), names: names,
            icons: icons, base: base, hasDigests: hasDigests)
    }

    var isXML: Bool { entries.first?.isXML ?? false }

    /// The shape with paths that follow the rules for XML.
    var inXML: ManifestShape {
        func inElement(_ path: ManifestPath) -> ManifestPath { path.written(as: .element) }
        return ManifestShape(
            name: name, entries: entries.map { $0.written(as: .document) },
            marks: marks.map(inElement), names: names.map(inElement),
            icons: icons.map { .init(path: inElement($0.path), template: $0.template) },
            hasDigests: hasDigests, priority: priority.map(inElement),
            integrity: integrity.map(inElement), key: key.map(inElement), template: template?.inXML)
    }

    func matches(_ element: ManifestValue) -> Bool {
        marks.contains { $0.first(in: element) != nil }
    }
}

extension ManifestShape.IconPlace: ExpressibleByStringLiteral {
    init(stringLiteral path: String) { self.init(path: ManifestPath(stringLiteral: path)) }
}

extension ManifestShape {
    /// Larder's own form.
    static let plain = ManifestShape(
        name: "plain", entries: ["$[*]", "$.apps[*]", "$.*"], marks: ["icon"],
        names: ["name", "title"], icons: ["icon"], hasDigests: true, priority: "priority",
        key: "key")

    static let urls = ManifestShape("list of URLs", [], names: [], icons: ["@"])

    /// All shapes, the most specific first (docs/manifests.md).
    static let table: [ManifestShape] =
        [
            ManifestShape(
                "F-Droid index v1", ["$.apps[*]"], marks: ["packageName"],
                names: ["name", "localized['en-US'].name", "localized.*.name", "packageName"],
                icons: [
                    IconPlace(path: "icon", template: "icons/{}"),
                    IconPlace(path: "localized.*.icon", template: "{packageName}/{*}/{}"),
                ], base: "$.repo.address"),
            ManifestShape(
                "F-Droid index v2", ["$.packages.*"], marks: ["metadata"],
                names: ["metadata.name['en-US']", "metadata.name.*"],
                icons: [IconPlace(path: "metadata.icon.*.name", template: "{}")],
                base: "$.repo.address", hasDigests: true),
            ManifestShape(
                "OTA install manifest", ["$.items[*]"], names: ["metadata.title"],
                icons: ["assets[?@.kind=='display-image'].url"]),
            ManifestShape(
                "OTA install manifest without a display image", ["$.items[*]"], marks: ["assets"],
                names: ["metadata.title"], icons: ["assets[?@.kind=='full-size-image'].url"]),
            ManifestShape(
                "iTunes Search results", ["$.results[*]"],
                marks: ["artworkUrl60", "artworkUrl100", "artworkUrl512", "trackName"],
                names: ["trackName", "collectionName", "artistName"],
                icons: ["artworkUrl60", "artworkUrl100", "artworkUrl512"]),
            ManifestShape(
                "Apple RSS entries", ["$.feed.entry[*]", "$.feed.entry"],
                marks: ["['im:image']", "['im:name']"], names: ["['im:name'].label"],
                icons: ["['im:image'][*].label"]),
            ManifestShape(
                "Apple RSS results", ["$.feed.results[*]"], marks: ["artworkUrl100", "name"],
                names: ["name"], icons: ["artworkUrl100"]),
            ManifestShape(
                "Flathub hits", ["$.hits[*]"], marks: ["icon", "app_id"], names: ["name"],
                icons: ["icon"]),
            ManifestShape(
                "web app manifest",
                [
                    "$", "$.shortcuts[*]", "$.widgets[*]", "$.shortcuts_localized.*[*]",
                    "$.widgets_localized.*[*]",
                ], marks: ["icons[*].src", "icons_localized.*[*].src"],
                names: ["name", "short_name"], icons: ["icons[*].src", "icons_localized.*[*].src"]),
            ManifestShape(
                "AppStream catalogue", ["/components/component", "/component"],
                marks: ["icon", "id"], names: ["name", "id"],
                icons: ["icon"]),
            ManifestShape(
                "Unraid template", ["/Container"], marks: ["Icon", "Name"], names: ["Name"],
                icons: ["Icon"]),
            ManifestShape(
                "Chocolatey package", ["/package/metadata"], marks: ["iconUrl", "id"],
                names: ["title", "id"], icons: ["iconUrl"]),
            .plain,
            ManifestShape(
                "template list", ["$[*]", "$.templates[*]"], names: ["title", "name"],
                icons: ["logo"]),
        ]
        + [
            "logoURI", "logoUrl", "logoURL", "logo_url", "logo", "iconURL", "iconUrl", "icon_url",
            "iconUri", "thumb", "thumbnail", "artworkUrl", "image_url", "imageURL",
        ]
        .map { named($0) }
        + [
            ManifestShape(
                "icons with src", ["$[*]", "$.apps[*]"], names: ["name", "short_name", "title"],
                icons: ["icons[*].src"])
        ]

    private static func named(_ icon: String) -> ManifestShape {
        ManifestShape(
            "list with \(icon)",
            ["$[*]", "$.apps[*]", "$.tokens[*]", "$.templates[*]", "$.items[*]", "$.*"],
            icons: [IconPlace(stringLiteral: icon)])
    }
}
