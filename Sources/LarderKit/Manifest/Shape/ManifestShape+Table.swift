// The shapes that are recognised, in the order in which they are tried. docs/manifests.md lists
// them.

extension ManifestShape {
    /// Larder's own form, which has more members than the others.
    static let plain = ManifestShape(
        name: "plain", entries: ["$[*]", "$.apps[*]", "$.*"], marks: ["icon"],
        names: ["name", "title"],
        icons: ["icon"], hasDigests: true, priority: "priority", key: "key")

    /// A list of nothing but URLs.
    static let urls = ManifestShape("list of URLs", [], names: [], icons: ["@"])

    /// All of them. Those that are told by more than an icon's name come first.
    static let table: [ManifestShape] =
        [
            ManifestShape(
                "F-Droid index v1", ["$.apps[*]"], marks: ["packageName"],
                names: ["name", "localized['en-US'].name", "localized.*.name", "packageName"],
                icons: [
                    IconPlace(path: "icon", template: "icons/{}"),
                    IconPlace(path: "localized.*.icon", template: "{packageName}/{*}/{}"),
                ],
                base: "$.repo.address"),
            ManifestShape(
                "F-Droid index v2", ["$.packages.*"], marks: ["metadata"],
                names: ["metadata.name['en-US']", "metadata.name.*"],
                icons: [IconPlace(path: "metadata.icon.*.name", template: "{}")],
                base: "$.repo.address", hasDigests: true),
            ManifestShape(
                "OTA install manifest", ["$.items[*]"], names: ["metadata.title"],
                icons: ["assets[?@.kind=='display-image'].url"]),
            ManifestShape(
                "OTA install manifest without a display image", ["$.items[*]"],
                marks: ["assets"], names: ["metadata.title"],
                icons: ["assets[?@.kind=='full-size-image'].url"]),
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
                names: ["name", "short_name"],
                icons: ["icons[*].src", "icons_localized.*[*].src"]),
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

    /// A list whose entries have their icon under that name.
    private static func named(_ icon: String) -> ManifestShape {
        ManifestShape(
            "list with \(icon)",
            ["$[*]", "$.apps[*]", "$.tokens[*]", "$.templates[*]", "$.items[*]", "$.*"],
            icons: [IconPlace(stringLiteral: icon)])
    }
}
