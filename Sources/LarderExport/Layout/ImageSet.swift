import Foundation
import LarderCore
import LarderImages

/// An image set of an asset catalog: a directory with one image and `Contents.json`.
///
/// Source: "Asset Catalog Format Reference" of Apple, "Contents.json" and "Image Set Type".
enum ImageSet {
    static let suffix = ".imageset"
    static let contentsFile = "Contents.json"

    /// The author of the sets that an export has made, and may remove.
    private static let author = "larder"
    /// The largest description that is read, in bytes. An export's are smaller.
    static let longestContents = 4096

    static var catalogContents: String {
        """
        {
          "info" : {
            "author" : "\(author)",
            "version" : 1
          }
        }

        """
    }

    static func contents(of file: String, mediaType: String?) -> String {
        var properties = ""
        if ImageFormat.of(mediaType: mediaType)?.isVector ?? false {
            properties = """
                ,
                  "properties" : {
                    "preserves-vector-representation" : true
                  }
                """
        }
        // A safe name has nothing that JSON escapes.
        return """
            {
              "images" : [
                {
                  "filename" : "\(file)",
                  "idiom" : "universal"
                }
              ],
              "info" : {
                "author" : "\(author)",
                "version" : 1
              }\(properties)
            }

            """
    }

    static func isOwn(_ contents: [UInt8]) -> Bool {
        guard contents.count <= longestContents,
            let json = try? JSONSerialization.jsonObject(with: Data(contents))
                as? [String: Any],  // text: of 4 kB at most
            let info = json["info"] as? [String: Any],  // text: likewise
            (info["author"] as? String)?.isSame(as: author) == true,
            let images = json["images"] as? [[String: Any]],  // text: likewise
            images.count == 1,
            let file = images[0]["filename"] as? String, stem(ofImage: file) != nil
        else { return false }
        return true
    }

    /// The beginning of an image's name; nil if no export gives an image that name.
    static func stem(ofImage file: String) -> String? {
        guard ImageFile.isSuffix(PathExtension.ofText(file)),
            file.utf8.first != UInt8(ascii: "."), !file.utf8.contains(UInt8(ascii: "/"))
        else { return nil }
        return PathExtension.without(file)
    }

    /// Whether a file in the set of a stem is one that an export has made.
    static func isImage(_ file: String, of stem: String) -> Bool {
        self.stem(ofImage: file).map(SafeName.folded)?.isSame(as: SafeName.folded(stem)) == true
    }
}

enum ImageFile {
    /// The usual extension of a media type; `bin` if it is not an image.
    static func suffix(of mediaType: String?) -> String {
        ImageFormat.of(mediaType: mediaType)?.suffixes[0] ?? "bin"
    }

    static func isSuffix(_ text: String) -> Bool {
        text.isSame(as: "bin") || ImageFormat.all.contains { text.isSame(as: $0.suffixes[0]) }
    }

    static func isForAssetCatalog(_ mediaType: String?) -> Bool {
        ImageFormat.of(mediaType: mediaType)?.isForAssetCatalogs ?? false
    }
}
