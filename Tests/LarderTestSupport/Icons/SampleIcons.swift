/// The icons of the sample manifests, as bytes by path in `icons`.
enum SampleIcons {
    static let valid: [String: [UInt8]] = [
        "alarm.png": clock,
        "books.svg": IconPainter.svg(Icon(.book, hue: 150), size: 96),
        "calendar.png": png(.calendar, hue: 255),
        "camera.jpg": IconPainter.jpeg(Icon(.camera, hue: 45), size: 96),
        "charts.gif": IconPainter.gif(Icon(.chart, hue: 190), size: 96),
        "chat.webp": IconPainter.webp,
        "clock.png": clock,
        "favourites.svg": IconPainter.svg(Icon(.star, hue: 140), size: 96),
        "films.bmp": IconPainter.bmp(Icon(.film, hue: 15), size: 48),
        "games.gif": IconPainter.gif(Icon(.game, hue: 165), size: 96),
        "garden.avif": IconPainter.avif,
        "health.heic": IconPainter.heic,
        "home.svg": IconPainter.svg(Icon(.house, hue: 60), size: 96),
        "mail.png": png(.mail, hue: 250),
        "maps.png": png(.pin, hue: 220),
        "music.png": png(.music, hue: 170),
        "north/icon.png": png(.up, hue: 270),
        "notes.png": png(.notes, hue: 310),
        "passwords.png": png(.key, hue: 205),
        "phone.png": png(.phone, hue: 85),
        "photos.jpg": IconPainter.jpeg(Icon(.mountain, hue: 30), size: 96),
        "search.png": png(.search, hue: 0),
        "shop.png": png(.bag, hue: 5),
        "south/icon.png": png(.down, hue: 240),
        "vault.ico": IconPainter.ico(Icon(.lock, hue: 120), size: 48),
        "weather.png": png(.weather, hue: 48),
    ]

    /// Bodies that are not icons, although servers may send them with status 200.
    static let broken: [String: [UInt8]] = [
        "broken/empty.png": [],
        "broken/half.png": Array(mail.prefix(mail.count / 2)),
        "broken/page.png": Array(
            """
            <!DOCTYPE html>
            <html lang="en">
            <head><title>Sorry</title></head>
            <body><p>Please sign in to this network.</p></body>
            </html>

            """.utf8),
    ]

    private static let clock = png(.clock, hue: 100)
    private static let mail = png(.mail, hue: 250)

    private static func png(_ glyph: Glyph, hue: Int) -> [UInt8] {
        IconPainter.png(Icon(glyph, hue: hue), size: 96)
    }
}
