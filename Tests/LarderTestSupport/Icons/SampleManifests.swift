import Foundation

/// A generator of the sample manifests and icons in the repository.
public enum SampleManifests {
    /// The port in the samples' URLs.
    public static let port: UInt16 = 8642

    /// Writes all sample files to a directory. Replaces existing samples and keeps other files.
    ///
    /// - Throws: Foundation's error if a file cannot be written.
    public static func write(to directory: String) throws {
        let root = URL(fileURLWithPath: directory, isDirectory: true)
        for (path, bytes) in files {
            let file = root.appendingPathComponent(path)
            try FileManager.default.createDirectory(
                at: file.deletingLastPathComponent(), withIntermediateDirectories: true)
            try Data(bytes).write(to: file)
        }
    }

    /// The bytes of the sample files by path relative to the samples' directory.
    public static let files: [String: [UInt8]] = {
        var files = [
            "apps.plist": SampleFormats.xmlPlist(classic),
            "apps.binary.plist": SampleFormats.binaryPlist(classic),
            "apps.jsonl": SampleFormats.jsonLines(classic),
            "apps.json": SampleFormats.json(detailed),
            "broken-entries.json": SampleFormats.json(broken),
        ]
        files.merge(SampleShapes.files) { $1 }
        for (path, bytes) in SampleIcons.valid { files["icons/\(path)"] = bytes }
        for (path, bytes) in SampleIcons.broken { files["icons/\(path)"] = bytes }
        return files
    }()

    static func url(_ icon: String, host: String = "127.0.0.1") -> String {
        "http://\(host):\(port)/icons/\(icon)"
    }

    /// Entries as in tutorials: a name, an icon and a number of downloads.
    private static let classic = [
        SampleApp("Notes", "notes.png", download: "1.2 M"),
        SampleApp("Mail", "mail.png", download: "980 k"),
        SampleApp("Camera", "camera.jpg", download: "2.4 M"),
        SampleApp("Weather", "weather.png", download: "610 k"),
        SampleApp("Maps & Routes", "maps.png", download: "3.1 M"),
        SampleApp("Música", "music.png", download: "1.9 M"),
        SampleApp("Kalender", "calendar.png", download: "450 k"),
        SampleApp("Clock", "clock.png", download: "300 k"),
        SampleApp("Alarm", "alarm.png", download: "120 k"),
        SampleApp("Charts", "charts.gif", download: "88 k"),
        SampleApp("お気に入り", "favourites.svg", download: "47 k"),
        SampleApp("电话", "phone.png", download: "5.0 M"),
        SampleApp("North", "north/icon.png", download: "12 k"),
        SampleApp("South", "south/icon.png", host: "localhost", download: "11 k"),
        SampleApp("Home", "home.svg", host: "localhost", download: "230 k"),
        SampleApp("Search", "search.png", host: "localhost", download: "7.7 M"),
    ]

    /// Entries with priorities, digests and sizes. The first four URLs are also in the classic
    /// list.
    private static let detailed = [
        checked("Notes", "notes.png", download: "1.2 M"),
        checked("Mail", "mail.png", download: "980 k").priority("veryHigh"),
        SampleApp("Weather", "weather.png", download: "610 k").priority("high"),
        SampleApp("Search", "search.png", host: "localhost", download: "7.7 M").priority(12),
        SampleApp("Shop", "shop.png", download: "64 k").priority("low"),
        checked("Books", "books.svg", download: "210 k"),
        SampleApp("Chat", "chat.webp", download: "4.3 M").priority("high"),
        SampleApp("Games", "games.gif", download: "1.1 M").priority("normal"),
        SampleApp("Passwords", "passwords.png", download: "93 k")
            .sha256(of: SampleIcons.valid["passwords.png"] ?? []),
        SampleApp("Garden", "garden.avif", download: "38 k").priority(-2),
        SampleApp("Health", "health.heic", download: "520 k"),
        checked("Vault", "vault.ico", download: "77 k").priority("veryLow"),
        SampleApp("Films", "films.bmp", host: "localhost", download: "640 k"),
        SampleApp("Photos", "photos.jpg", host: "localhost", download: "2.2 M"),
    ]

    /// A valid entry, entries to skip and entries that fail. `expect` states the outcome and the
    /// reason.
    private static let broken = [
        SampleApp("Good", "notes.png", download: "1.2 M").with("expect", .text("fetched")),
        entry("No icon", nil, expect: "skipped: no icon"),
        entry("Empty icon", .text(""), expect: "skipped: no icon"),
        entry("Number as icon", .number(42), expect: "failed: the icon is not a string"),
        entry("Script", .text("javascript:alert(1)"), expect: "skipped: other scheme"),
        entry("Local file", .text("file:///etc/hostname"), expect: "skipped: other scheme"),
        entry("No URL", .text("http://[::1/icon.png"), expect: "failed: not a URL"),
        entry("Placeholder", "{f}.png", expect: "skipped: template"),
        entry("Bad digest", "notes.png", expect: "failed: not a SHA-256 digest")
            .with("integrity", .text("sha256-short")),
        entry("Other bytes", "maps.png", expect: "failed: other bytes than stated")
            .sha256(of: SampleIcons.valid["notes.png"] ?? []),
        entry("Other size", "music.png", expect: "failed: another size than stated")
            .with("size", .number(1)),
        entry("Missing", "broken/missing.png", expect: "failed: status 404"),
        entry("HTML page", "broken/page.png", expect: "failed: an HTML page, not an image"),
        entry("Cut in half", "broken/half.png", expect: "failed: PNG ends too early"),
        entry("Nothing", "broken/empty.png", expect: "failed: 0 bytes"),
    ]

    private static func checked(_ name: String, _ icon: String, download: String) -> SampleApp {
        SampleApp(name, icon, download: download)
            .integrity(of: SampleIcons.valid[icon] ?? [])
    }

    private static func entry(_ name: String, _ icon: String, expect: String) -> SampleApp {
        entry(name, .text(url(icon)), expect: expect)
    }

    private static func entry(
        _ name: String, _ icon: SampleApp.Value?, expect: String
    ) -> SampleApp {
        let fields =
            [("name", .text(name)), ("icon", icon), ("expect", .text(expect))]
            as [(String, SampleApp.Value?)]
        return SampleApp(
            fields: fields.compactMap { key, value in value.map { (key: key, value: $0) } })
    }
}
