struct ManifestShape: Equatable, Sendable {
    let name: String
    /// The paths from the root to the entries. `$` means that the manifest itself is an entry.
    var entries: [ManifestPath]
    /// The paths of marks. The first element with a mark decides the shape.
    var marks: [ManifestPath]
    /// The paths that this element must also match, because other files can have the same marks.
    var requires: [ManifestPath] = []
    var names: [ManifestPath]
    var icons: [IconPlace]
    /// The path from the root to the base URL of icons, which must precede the entries.
    var base: ManifestPath?
    var needsBase = true
    /// Whether an entry is a group, such as a dashboard's section. Its icons have the names next to
    /// them, or else the keys of their dictionaries.
    var isGroup = false
    /// Whether `integrity`, `size` and ``digestKey`` next to an icon describe the icon.
    var hasDigests = false
    var digestKey = "sha256"
    var priority: ManifestPath?
    var integrity: ManifestPath?
    var key: ManifestPath?
    var template: IconTemplate?

    struct IconPlace: Equatable, Sendable {
        let path: ManifestPath
        /// A template of the URL, relative to ``base``. `{}` is the value, `{*}` is the name that
        /// `.*` matched, and `{name}` is a member of the entry. `{.png}` adds this extension to a
        /// value without one. Nil means that the value is the URL.
        var template: String?
        var target = Target.remote

        enum Target {
            case remote
            /// A file that comes with the manifest. A base URL in the manifest does not apply to
            /// it.
            case file
            case theme
            /// A value of the kind that the element's attribute `type` names, in AppStream.
            case typed
            /// The URL of an image, according to an attribute or the file name.
            case image
            /// A conventional name, for an entry without another icon. It is not a value to
            /// localize.
            case convention
        }
    }
}

extension ManifestShape {
    static let usualNames: [ManifestPath] = ["name", "title", "label"]

    /// - Parameters:
    ///   - marks: Default: the icons.
    ///   - otherMarks: Marks in addition to `marks`.
    init(
        _ name: String, _ entries: [ManifestPath], marks: [ManifestPath]? = nil,
        otherMarks: [ManifestPath] = [], requires: [ManifestPath] = [],
        names: [ManifestPath] = usualNames, icons: [IconPlace], base: ManifestPath? = nil,
        needsBase: Bool = true, isGroup: Bool = false, hasDigests: Bool = false,
        digestKey: String = "sha256"
    ) {
        self.init(
            name: name, entries: entries, marks: (marks ?? icons.map(\.path)) + otherMarks,
            requires: requires, names: names, icons: icons, base: base, needsBase: needsBase,
            isGroup: isGroup, hasDigests: hasDigests, digestKey: digestKey)
    }

    var isXML: Bool { entries.first?.isXML ?? false }

    var inXML: ManifestShape {
        func inElement(_ path: ManifestPath) -> ManifestPath { path.written(as: .element) }
        var shape = self
        shape.entries = entries.map { $0.written(as: .document) }
        (shape.marks, shape.requires) = (marks.map(inElement), requires.map(inElement))
        shape.names = names.map(inElement)
        shape.icons = icons.map {
            .init(path: inElement($0.path), template: $0.template, target: $0.target)
        }
        shape.base = base?.written(as: .document)
        (shape.priority, shape.integrity) = (priority.map(inElement), integrity.map(inElement))
        (shape.key, shape.template) = (key.map(inElement), template?.inXML)
        return shape
    }

    func matches(_ element: ManifestValue) -> Bool {
        requires.allSatisfy { $0.first(in: element) != nil }
            && marks.contains { $0.first(in: element) != nil }
    }

    /// Whether a group has an empty list at a mark.
    func isEmptyGroup(_ element: ManifestValue) -> Bool {
        guard isGroup, case .dictionary(let members) = element,
            requires.allSatisfy({ $0.first(in: element) != nil })
        else { return false }
        return marks.contains { mark in
            // The list of a deeper mark, such as `children`, occurs in any tree.
            guard mark.segments.count == 3, case .member(let list) = mark.segments[0]
            else { return false }
            return members[list] == .null || members[list] == .array([])
        }
    }
}

extension ManifestShape.IconPlace: ExpressibleByStringLiteral {
    init(stringLiteral path: String) { self.init(path: ManifestPath(stringLiteral: path)) }
}

extension ManifestShape {
    static let plain = ManifestShape(
        name: "plain", entries: ["$[*]", "$.apps[*]", "$.*"], marks: ["icon"],
        names: ["name", "title"], icons: ["icon"], hasDigests: true, priority: "priority",
        key: "key")

    static let urls = ManifestShape("list of URLs", [], names: [], icons: ["@"])

    /// The members are digests by icon name. ``EntryWalk`` makes an entry of each.
    static let hashes = ManifestShape(
        "Munki icon hashes", [], names: ["icon"],
        icons: [IconPlace(path: "icon", template: "../icons/{}", target: .convention)],
        hasDigests: true)

    /// The known shapes, the most specific first (docs/manifests.md).
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
                ], marks: ["icons[*].src", "icons_localized.*[*].src", "start_url"],
                names: ["name", "short_name"], icons: ["icons[*].src", "icons_localized.*[*].src"]),
            ManifestShape(
                "Helm index", ["$.entries.*[*]"], marks: ["urls", "icon", "apiVersion"],
                requires: ["name", "version"], names: ["name"], icons: ["icon"]),
            ManifestShape(
                "CasaOS app", ["$"], marks: ["['x-casaos']"],
                names: ["['x-casaos'].title.*", "name"],
                icons: [
                    "['x-casaos'].icon", "['x-casaos'].thumbnail",
                    "['x-casaos'].screenshot_link[*]",
                ]),
            ManifestShape(
                "Umbrel app", ["$"], marks: ["icon", "gallery[*]", "tagline"],
                requires: ["manifestVersion", "id"], names: ["name"],
                icons: ["icon", IconPlace(path: "gallery[*]", template: "{id}/{}")]),
            ManifestShape(
                "Artifact Hub package", ["$"],
                marks: ["logoURL", "logoPath", "screenshots[*].url", "createdAt"],
                requires: ["displayName", "version"], names: ["displayName"],
                icons: ["logoURL", "logoPath", "screenshots[*].url"]),
            ManifestShape(
                "winget manifest", ["$"],
                marks: ["Icons", "Localization", "ManifestType", "PackageVersion"],
                requires: ["PackageIdentifier"],
                names: ["PackageName", "PackageIdentifier"],
                icons: ["Icons[*].IconUrl", "Localization[*].Icons[*].IconUrl"],
                hasDigests: true, digestKey: "IconSha256"),
            ManifestShape(
                "webOS Homebrew package", ["$", "$.packages[*]"],
                marks: ["iconUri", "manifestUrl", "ipkUrl"], requires: ["title"], names: ["title"],
                icons: ["iconUri", "detailIconUri", "manifest.iconUri"]),
            ManifestShape(
                "DEP-11", ["$"], requires: ["ID", "Type"], names: ["Name.C", "Name.en", "ID"],
                icons: [
                    IconPlace(path: "Icon.cached", target: .file),
                    IconPlace(path: "Icon.cached[*].name", target: .file),
                    IconPlace(path: "Icon.stock", target: .theme),
                    "Icon.remote[*].url",
                ], base: "$.MediaBaseUrl", needsBase: false),
            ManifestShape(
                "Munki catalog", ["$[*]", "$"], marks: ["catalogs"],
                requires: ["name", "version"], names: ["display_name", "name"],
                icons: [
                    IconPlace(path: "icon_name", template: "../icons/{.png}"),
                    IconPlace(path: "name", template: "../icons/{.png}", target: .convention),
                ], hasDigests: true, digestKey: "icon_hash"),
            ManifestShape(
                "Nextcloud apps", ["$[*]"], marks: ["screenshots[*].url", "certificate"],
                requires: ["id", "translations"], names: ["translations.en.name", "id"],
                icons: ["screenshots[*].url", "screenshots[*].smallThumbnail"]),
            ManifestShape(
                "CNCF landscape",
                [
                    "$.landscape[*].subcategories[*].items[*]",
                    "$.categories[*].subcategories[*].items[*]",
                ], marks: ["logo", "homepage_url", "repo_url"], requires: ["name"],
                names: ["name"], icons: ["logo"]),
            ManifestShape(
                "Homarr board", ["$.apps[*]", "$"],
                marks: [
                    "appearance.iconUrl", "appearance.appNameStatus", "behaviour.externalUrl",
                ], names: ["name"],
                icons: [
                    "appearance.iconUrl", "settings.customization.logoImageUrl",
                    "settings.customization.faviconUrl",
                ]),
            ManifestShape(
                "Homarr services", ["$.services[*]"], requires: ["id", "type", "url"],
                names: ["name"], icons: ["icon"]),
            ManifestShape(
                "Dashy dashboard", ["$.sections[*]", "$"],
                marks: ["items[*].title", "widgets[*].type"], requires: ["name"],
                names: ["title", "name"],
                icons: ["icon", "items[*].icon", "items[*].subItems[*].icon", "pageInfo.logo"],
                isGroup: true),
            ManifestShape(
                "Homer dashboard", ["$.services[*]", "$"], marks: ["items[*].name"],
                names: ["name", "title"],
                icons: ["icon", "logo", "items[*].icon", "items[*].logo"], isGroup: true),
            ManifestShape(
                "Fedora Apps", ["$.children[*]"], marks: ["children[*].data.url"],
                requires: ["name"], names: ["name"], icons: ["..icon"], isGroup: true),
            ManifestShape(
                "Home Assistant dashboard", ["$.views[*]", "$.data.config.views[*]"],
                marks: [
                    "cards[*].type", "sections[*].type", "sections[*].cards[*].type",
                    "badges[*].entity",
                ],
                names: ["name", "title", "entity"],
                icons: ["..icon", "..entity_picture", "..picture", "..image"], isGroup: true),
            ManifestShape(
                "AppStream catalogue", ["/components/component", "/component"],
                marks: ["icon", "id"], names: ["name", "id"],
                icons: [IconPlace(path: "icon", target: .typed)],
                base: "/components/@media_baseurl", needsBase: false),
            ManifestShape(
                "Unraid template",
                [
                    "/Container", "/Containers/Container", "/Containers/Plugin", "/Plugin",
                    "/CommunityApplications",
                ],
                marks: ["Icon", "Repository", "PluginURL"], names: ["Name"],
                icons: ["Icon", "Screenshot"]),
            ManifestShape(
                "Unraid plugin", ["/Containers"], marks: ["PluginURL"], names: ["Name"],
                icons: ["Icon", "Screenshot"]),
            ManifestShape(
                "Unraid feed", ["$.applist[*]"], marks: ["Icon", "Repository", "PluginURL"],
                requires: ["Name"], names: ["Name"],
                icons: ["Icon", "Screenshot", "Screenshot[*]"]),
            ManifestShape(
                "Chocolatey package", ["/package/metadata"], marks: ["iconUrl", "id"],
                names: ["title", "id"], icons: ["iconUrl"]),
            ManifestShape(
                "Kodi repository", ["/addons/addon"], marks: ["@id"], names: ["@name", "@id"],
                icons: [IconPlace(path: "extension/assets/icon", template: "{@id}/{}")]),
            ManifestShape(
                "Kodi add-on", ["/addon"], marks: ["@id"], names: ["@name", "@id"],
                icons: ["extension/assets/icon"]),
            ManifestShape(
                "Nextcloud app", ["/info"], marks: ["screenshot", "licence"], requires: ["id"],
                names: ["name", "id"], icons: ["screenshot", "screenshot/@small-thumbnail"]),
            ManifestShape(
                "RSS",
                [
                    "/rss/channel/item", "/rss/channel/image", "/rss/channel/itunes:image",
                    "/rss/channel/media:thumbnail", "/rdf:RDF/item", "/rdf:RDF/image",
                ], otherMarks: ["title", "description"], names: ["title"],
                icons: [
                    "url", "@url", "@href", "itunes:image/@href", ".//media:thumbnail/@url",
                    IconPlace(path: ".//media:content/@url", target: .image),
                    IconPlace(path: "enclosure/@url", target: .image),
                ]),
            ManifestShape(
                // The root element of other feeds has the same name.
                "Atom", ["/feed/entry", "/feed/icon", "/feed/logo"], otherMarks: ["updated"],
                names: ["title"],
                icons: [
                    "@", ".//media:thumbnail/@url",
                    IconPlace(path: ".//media:content/@url", target: .image),
                    IconPlace(path: "link[@rel='enclosure']/@href", target: .image),
                ]),
            ManifestShape(
                // Without feeds, the outline is another document.
                "OPML", ["/opml/body/outline"], otherMarks: [".//@xmlUrl"],
                names: ["@text", "@title"],
                icons: [".//@imageUrl", ".//@image"], isGroup: true),
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
                icons: ["icons[*].src"]),
            // This shape is last, because the entries of any list may have such members.
            ManifestShape(
                "Homepage services", ["$[*]"],
                names: [],
                icons: [
                    "*[*].*.icon", "*[*].*[*].icon", "*[*].*[*].*.icon", "*[*].*[*].*[*].*.icon",
                ],
                isGroup: true),
        ]

    private static func named(_ icon: String) -> ManifestShape {
        ManifestShape(
            "list with \(icon)",
            ["$[*]", "$.apps[*]", "$.tokens[*]", "$.templates[*]", "$.items[*]", "$.*"],
            icons: [IconPlace(stringLiteral: icon)])
    }
}
