import LarderCore

struct ManifestShape: Equatable, Sendable {
    let name: String
    /// The paths from the root to the entries. `$` means that the manifest itself is an entry.
    var entries: [ManifestPath]
    /// The paths whose values identify the shape. The first entry with such a value decides.
    var marks: [ManifestPath]
    /// Paths at which the entry must also have values, because other files can have the same marks.
    var requires: [ManifestPath] = []
    var names: [ManifestPath]
    var icons: [IconPlace]
    /// The path from the root to the base URL of icons, which must precede the entries.
    var base: ManifestPath?
    var needsBase = true
    /// Whether an entry is a group of apps, such as a dashboard's section. An icon takes its
    /// name from a member next to it, or else from the key of its dictionary.
    var isGroup = false
    /// Whether `integrity`, `size` and ``digestKey`` next to an icon describe the icon.
    var hasDigests = false
    var digestKey = ManifestSummary.IgnoredMember.Name.sha256
    var priority: ManifestPath?
    var integrity: ManifestPath?
    var key: ManifestPath?
    var template: IconTemplate?

    struct IconPlace: Equatable, Sendable {
        let path: ManifestPath
        /// A template of the URL, relative to the base URL. `{}` is the value, `{*}` is the name
        /// that `.*` matched, and `{name}` is a member of the entry. `{.png}` is the value, with
        /// this extension unless it has another. If nil, the value is the URL.
        var template: String?
        var target = Target.remote

        enum Target {
            case remote
            /// A file that comes with the manifest. The manifest's base URL does not apply to it.
            case file
            case theme
            /// An `icon` element of AppStream. Its `type` attribute decides how its text is used.
            case typed
            /// A URL that counts only if an attribute or its file name shows that it is an image.
            case image
            /// A URL built from another member, which `larder localize` cannot replace.
            case convention
        }
    }

    static let usualNames: [ManifestPath] = ["name", "title", "label"]

    struct PathList: ExpressibleByStringLiteral {
        let paths: [ManifestPath]

        init(stringLiteral text: String) {
            paths = text.utf8.split(whereSeparator: \.isSpace)
                .map { ManifestPath(stringLiteral: String(Substring($0))) }
        }
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

    /// Whether a group has an empty or null list in place of marks.
    func isEmptyGroup(_ element: ManifestValue) -> Bool {
        guard isGroup, case .dictionary(let members) = element,
            requires.allSatisfy({ $0.first(in: element) != nil })
        else { return false }
        return marks.contains { mark in
            // Longer marks start with lists that occur in any tree, such as `children`.
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
    private init(
        _ name: String, _ entries: PathList, marks: PathList? = nil, otherMarks: PathList = "",
        requires: PathList = "", names: PathList? = nil, places: [IconPlace] = [],
        icons: PathList = "", images: PathList = "", base: ManifestPath? = nil,
        needsBase: Bool = true, isGroup: Bool = false, hasDigests: Bool = false,
        digestKey: ManifestSummary.IgnoredMember.Name = .sha256
    ) {
        let icons =
            places + icons.paths.map { IconPlace(path: $0) }
            + images.paths.map { IconPlace(path: $0, target: .image) }
        self.init(
            name: name, entries: entries.paths,
            marks: (marks?.paths ?? icons.map(\.path)) + otherMarks.paths,
            requires: requires.paths, names: names?.paths ?? Self.usualNames, icons: icons,
            base: base, needsBase: needsBase, isGroup: isGroup, hasDigests: hasDigests,
            digestKey: digestKey)
    }

    static let plain = ManifestShape(
        name: "plain", entries: ["$[*]", "$.apps[*]", "$.*"], marks: ["icon"],
        names: ["name", "title"], icons: ["icon"], hasDigests: true, priority: "priority",
        key: "key")

    static let urls = ManifestShape("list of URLs", "", names: "", icons: "@")

    /// A dictionary of icon names and digests. ``EntryWalk`` turns each member into an entry.
    static let hashes = ManifestShape(
        "Munki icon hashes", "", names: "icon",
        places: [IconPlace(path: "icon", template: "../icons/{}", target: .convention)],
        hasDigests: true)

    /// The known shapes, the most specific first (docs/manifests.md).
    static let table: [ManifestShape] =
        catalogues
        + [
            "logoURI", "logoUrl", "logoURL", "logo_url", "logo", "iconURL", "iconUrl", "icon_url",
            "iconUri", "thumb", "thumbnail", "artworkUrl", "image_url", "imageURL",
        ]
        .map { named($0) }
        + [
            ManifestShape(
                "icons with src", "$[*] $.apps[*]", names: "name short_name title",
                icons: "icons[*].src"),
            // This shape is last, because the entries of any list may have such members.
            ManifestShape(
                "Homepage services", "$[*]", names: "",
                icons: "*[*].*.icon *[*].*[*].icon *[*].*[*].*.icon *[*].*[*].*[*].*.icon",
                isGroup: true),
        ]

    private static func named(_ icon: String) -> ManifestShape {
        ManifestShape(
            "list with \(icon)", "$[*] $.apps[*] $.tokens[*] $.templates[*] $.items[*] $.*",
            places: [IconPlace(stringLiteral: icon)])
    }

    private static let catalogues: [ManifestShape] = [
        .init(
            "F-Droid index v1", "$.apps[*]", marks: "packageName",
            names: "name localized['en-US'].name localized.*.name packageName",
            places: [
                IconPlace(path: "icon", template: "icons/{}"),
                IconPlace(path: "localized.*.icon", template: "{packageName}/{*}/{}"),
            ], base: "$.repo.address"),
        .init(
            "F-Droid index v2", "$.packages.*", marks: "metadata",
            names: "metadata.name['en-US'] metadata.name.*",
            places: [IconPlace(path: "metadata.icon.*.name", template: "{}")],
            base: "$.repo.address", hasDigests: true),
        .init(
            "OTA install manifest", "$.items[*]", names: "metadata.title",
            icons: "assets[?@.kind=='display-image'].url"),
        .init(
            "OTA install manifest without a display image", "$.items[*]", marks: "assets",
            names: "metadata.title", icons: "assets[?@.kind=='full-size-image'].url"),
        .init(
            "iTunes Search results", "$.results[*]", otherMarks: "trackName",
            names: "trackName collectionName artistName",
            icons: "artworkUrl60 artworkUrl100 artworkUrl512"),
        .init(
            "Apple RSS entries", "$.feed.entry[*] $.feed.entry", marks: "['im:image'] ['im:name']",
            names: "['im:name'].label", icons: "['im:image'][*].label"),
        .init(
            "Apple RSS results", "$.feed.results[*]", otherMarks: "name", names: "name",
            icons: "artworkUrl100"),
        .init("Flathub hits", "$.hits[*]", otherMarks: "app_id", names: "name", icons: "icon"),
        .init(
            "web app manifest",
            "$ $.shortcuts[*] $.widgets[*] $.shortcuts_localized.*[*] $.widgets_localized.*[*]",
            otherMarks: "start_url", names: "name short_name",
            icons: "icons[*].src icons_localized.*[*].src"),
        .init(
            "Helm index", "$.entries.*[*]", otherMarks: "urls apiVersion",
            requires: "name version", names: "name", icons: "icon"),
        .init(
            "CasaOS app", "$", marks: "['x-casaos']", names: "['x-casaos'].title.* name",
            icons: "['x-casaos'].icon ['x-casaos'].thumbnail ['x-casaos'].screenshot_link[*]"),
        .init(
            "Umbrel app", "$", otherMarks: "tagline", requires: "manifestVersion id", names: "name",
            places: ["icon", IconPlace(path: "gallery[*]", template: "{id}/{}")]),
        .init(
            "Artifact Hub package", "$", otherMarks: "createdAt", requires: "displayName version",
            names: "displayName", icons: "logoURL logoPath screenshots[*].url"),
        .init(
            "winget manifest", "$", marks: "Icons Localization ManifestType PackageVersion",
            requires: "PackageIdentifier", names: "PackageName PackageIdentifier",
            icons: "Icons[*].IconUrl Localization[*].Icons[*].IconUrl", hasDigests: true,
            digestKey: .wingetDigest),
        .init(
            "webOS Homebrew package", "$ $.packages[*]", marks: "iconUri manifestUrl ipkUrl",
            requires: "title", names: "title", icons: "iconUri detailIconUri manifest.iconUri"),
        .init(
            "DEP-11", "$", requires: "ID Type", names: "Name.C Name.en ID",
            places: [
                IconPlace(path: "Icon.cached", target: .file),
                IconPlace(path: "Icon.cached[*].name", target: .file),
                IconPlace(path: "Icon.stock", target: .theme),
            ], icons: "Icon.remote[*].url", base: "$.MediaBaseUrl", needsBase: false),
        .init(
            "Munki catalog", "$[*] $", marks: "catalogs", requires: "name version",
            names: "display_name name",
            places: [
                IconPlace(path: "icon_name", template: "../icons/{.png}"),
                IconPlace(path: "name", template: "../icons/{.png}", target: .convention),
            ], hasDigests: true, digestKey: .munkiDigest),
        .init(
            "Nextcloud apps", "$[*]", marks: "screenshots[*].url certificate",
            requires: "id translations", names: "translations.en.name id",
            icons: "screenshots[*].url screenshots[*].smallThumbnail"),
        .init(
            "CNCF landscape",
            "$.landscape[*].subcategories[*].items[*] $.categories[*].subcategories[*].items[*]",
            otherMarks: "homepage_url repo_url", requires: "name", names: "name", icons: "logo"),
        .init(
            "Homarr board", "$.apps[*] $",
            marks: "appearance.iconUrl appearance.appNameStatus behaviour.externalUrl",
            names: "name",
            places: [
                "appearance.iconUrl", "settings.customization.logoImageUrl",
                "settings.customization.faviconUrl",
            ]),
        .init(
            "Homarr services", "$.services[*]", requires: "id type url", names: "name",
            icons: "icon"),
        .init(
            "Dashy dashboard", "$.sections[*] $", marks: "items[*].title widgets[*].type",
            requires: "name", names: "title name",
            icons: "icon items[*].icon items[*].subItems[*].icon pageInfo.logo", isGroup: true),
        .init(
            "Homer dashboard", "$.services[*] $", marks: "items[*].name", names: "name title",
            icons: "icon logo items[*].icon items[*].logo", isGroup: true),
        .init(
            "Fedora Apps", "$.children[*]", marks: "children[*].data.url", requires: "name",
            names: "name", icons: "..icon", isGroup: true),
        .init(
            "Home Assistant dashboard", "$.views[*] $.data.config.views[*]",
            marks: "cards[*].type sections[*].type sections[*].cards[*].type badges[*].entity",
            names: "name title entity", icons: "..icon ..entity_picture ..picture ..image",
            isGroup: true),
        .init(
            "AppStream catalogue", "/components/component /component", otherMarks: "id",
            names: "name id", places: [IconPlace(path: "icon", target: .typed)],
            base: "/components/@media_baseurl", needsBase: false),
        .init(
            "Unraid template",
            "/Container /Containers/Container /Containers/Plugin /Plugin /CommunityApplications",
            marks: "Icon Repository PluginURL", names: "Name", icons: "Icon Screenshot"),
        .init(
            "Unraid plugin", "/Containers", marks: "PluginURL", names: "Name",
            icons: "Icon Screenshot"),
        .init(
            "Unraid feed", "$.applist[*]", marks: "Icon Repository PluginURL", requires: "Name",
            names: "Name", icons: "Icon Screenshot Screenshot[*]"),
        .init(
            "Chocolatey package", "/package/metadata", otherMarks: "id", names: "title id",
            icons: "iconUrl"),
        .init(
            "Kodi repository", "/addons/addon", marks: "@id", names: "@name @id",
            places: [IconPlace(path: "extension/assets/icon", template: "{@id}/{}")]),
        .init(
            "Kodi add-on", "/addon", marks: "@id", names: "@name @id",
            icons: "extension/assets/icon"),
        .init(
            "Nextcloud app", "/info", marks: "screenshot licence", requires: "id", names: "name id",
            icons: "screenshot screenshot/@small-thumbnail"),
        .init(
            "RSS",
            """
            /rss/channel/item /rss/channel/image /rss/channel/itunes:image
            /rss/channel/media:thumbnail /rdf:RDF/item /rdf:RDF/image
            """,
            otherMarks: "title description", names: "title",
            icons: "url @url @href itunes:image/@href .//media:thumbnail/@url",
            images: ".//media:content/@url enclosure/@url"),
        // `updated` distinguishes Atom from other formats with the root element `feed`.
        .init(
            "Atom", "/feed/entry /feed/icon /feed/logo", otherMarks: "updated", names: "title",
            icons: "@ .//media:thumbnail/@url",
            images: ".//media:content/@url link[@rel='enclosure']/@href"),
        // `xmlUrl` distinguishes lists of feeds from other outlines.
        .init(
            "OPML", "/opml/body/outline", otherMarks: ".//@xmlUrl", names: "@text @title",
            icons: ".//@imageUrl .//@image", isGroup: true),
        .plain,
        .init("template list", "$[*] $.templates[*]", names: "title name", icons: "logo"),
    ]
}
