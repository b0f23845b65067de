/// Samples in other manifest formats with the same icons.
enum SampleShapes {
    static let files: [String: [UInt8]] = [
        "source.json": Array(source.utf8), "site.webmanifest": Array(site.utf8),
        "urls.txt": Array(urls.utf8),
    ]

    /// An AltStore source.
    private static let source = """
        {
          "name": "Samples",
          "identifier": "com.example.samples",
          "apps": [
            {
              "name": "Books",
              "bundleIdentifier": "com.example.books",
              "developerName": "Example",
              "iconURL": "\(SampleManifests.url("books.svg"))"
            },
            {
              "name": "Chat",
              "bundleIdentifier": "com.example.chat",
              "developerName": "Example",
              "iconURL": "\(SampleManifests.url("chat.webp"))"
            }
          ],
          "news": []
        }

        """

    /// A web app manifest: relative icons in several sizes, and a shortcut with an icon.
    private static let site = """
        {
          "name": "Maps & Routes",
          "start_url": "/",
          "icons": [
            {"src": "icons/maps.png", "sizes": "48x48", "type": "image/png"},
            {"src": "icons/home.svg", "sizes": "any", "type": "image/svg+xml"}
          ],
          "shortcuts": [
            {"name": "Search", "url": "/search", "icons": [{"src": "icons/search.png", "sizes": "48x48"}]}
          ]
        }

        """

    private static let urls =
        ["notes.png", "mail.png", "camera.jpg"].map { SampleManifests.url($0) + "\n" }.joined()
}
