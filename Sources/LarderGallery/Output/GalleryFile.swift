import LarderKit

/// A file of a gallery.
public struct GalleryFile: Sendable {
    /// Its path relative to the page's.
    public let path: String
    /// Its media type.
    public let mediaType: String
    /// Its bytes.
    public let bytes: [UInt8]

    /// The same for every cache: the page, its style and its script.
    public static let page: [GalleryFile] = [
        GalleryFile(
            path: "index.html", mediaType: "text/html; charset=utf-8",
            bytes: PackageResources.index_html),
        GalleryFile(
            path: "gallery/gallery.css", mediaType: "text/css; charset=utf-8",
            bytes: PackageResources.gallery_css),
        GalleryFile(
            path: "gallery/gallery.js", mediaType: script, bytes: PackageResources.gallery_js),
    ]

    /// The media type of scripts.
    public static let script = "text/javascript; charset=utf-8"

    /// The description of all icons.
    public static let catalogue = "gallery/icons.js"

    /// What is sent in its place while it is made: the page asks again.
    public static let notYet = GalleryFile(
        path: catalogue, mediaType: script, bytes: Array("larder.later()\n".utf8))

    /// What is sent in its place if it cannot be made; the page shows the message.
    public static func description(ofProblem message: String) -> GalleryFile {
        var description = JSONObject()
        description.set("problem", message)
        return GalleryFile(
            path: catalogue, mediaType: script,
            bytes: Array("larder.begin(\(description.text))\n".utf8))
    }

    /// Whether a file beside it could be a part of it, without a digest in its name.
    public static func isPart(_ name: String) -> Bool {
        let (start, end) = ("icons-".utf8, ".js".utf8)
        let text = name.utf8
        guard text.starts(with: start), text.suffix(end.count).elementsEqual(end) else {
            return false
        }
        let number = text.dropFirst(start.count).dropLast(end.count)
        return !number.isEmpty && number.allSatisfy { 0x30...0x39 ~= $0 }
    }
}
