import Foundation
import LarderCore
import LarderImages

/// An image set of an asset catalog: a directory with `Contents.json` and images.
/// Source: Apple's "Asset Catalog Format Reference", "Contents.json" and "Image Set Type".
enum ImageSet {
    static let suffix = ".imageset"
    static let contentsFile = "Contents.json"

    private static let author = "larder"
    static let longestContents = 4096

    /// Returns the description of an image set, or of the catalog if `files` is empty.
    static func contents(
        of files: [(name: String, scale: Int?)] = [], mediaType: String? = nil
    ) -> String {
        // Safe names contain no characters that JSON escapes.
        let images = files.map { name, scale -> String in
            let scale = scale.map { ",\n      \"scale\" : \"\($0)x\"" } ?? ""
            return """
                    {
                      "filename" : "\(name)",
                      "idiom" : "universal"\(scale)
                    }
                """
        }.joined(separator: ",\n")
        let list = files.isEmpty ? "" : "  \"images\" : [\n\(images)\n  ],\n"
        let isVector = ImageFormat.of(mediaType: mediaType)?.isVector ?? false
        let properties = """
            ,
              "properties" : {
                "preserves-vector-representation" : true
              }
            """
        return """
            {
            \(list)  "info" : {
                "author" : "\(author)",
                "version" : 1
              }\(isVector ? properties : "")
            }

            """
    }

    static func isOwn(_ contents: [UInt8]) -> Bool {
        guard contents.count <= longestContents,
            let json = try? JSONSerialization.jsonObject(with: Data(contents))
                as? [String: Any],  // text: at most 4 kB
            let info = json["info"] as? [String: Any],  // text: likewise
            (info["author"] as? String)?.isSame(as: author) == true,
            let images = json["images"] as? [[String: Any]],  // text: likewise
            (1...3).contains(images.count)
        else { return false }
        return images.allSatisfy { ($0["filename"] as? String).flatMap(stem(ofImage:)) != nil }
    }

    /// Returns an image's name without extension and scale, or nil if no export creates the name.
    static func stem(ofImage file: String) -> String? {
        guard ImageFile.isSuffix(PathExtension.ofText(file)),
            file.utf8.first != UInt8(ascii: "."), !file.utf8.contains(UInt8(ascii: "/"))
        else { return nil }
        return ImageFile.stem(withoutScale: PathExtension.without(file))
    }

    static func isImage(_ file: String, of stem: String) -> Bool {
        self.stem(ofImage: file).map(SafeName.folded)?.isSame(as: SafeName.folded(stem)) == true
    }
}

enum ImageFile {
    static func suffix(of mediaType: String?) -> String {
        ImageFormat.of(mediaType: mediaType)?.suffixes[0] ?? "bin"
    }

    static func isSuffix(_ text: String) -> Bool {
        text.isSame(as: "bin") || ImageFormat.all.contains { text.isSame(as: $0.suffixes[0]) }
    }

    static func stem(withoutScale name: String) -> String {
        let hasScale = ["@2x", "@3x", "@4x"].contains { name.utf8.suffix(3).elementsEqual($0.utf8) }
        return hasScale ? String(decoding: name.utf8.dropLast(3), as: UTF8.self) : name
    }
}
