import Foundation
import LarderCore
import LarderImages

/// An image set of an asset catalog: a directory with one image and `Contents.json`.
///
/// Source: Apple's "Asset Catalog Format Reference", "Contents.json" and "Image Set Type".
enum ImageSet {
    static let suffix = ".imageset"
    static let contentsFile = "Contents.json"

    /// The mark of image sets that an export created and may remove.
    private static let author = "larder"
    /// In bytes. Exported descriptions are smaller.
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
        // Safe names need no escapes in JSON.
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
                as? [String: Any],  // text: at most 4 kB
            let info = json["info"] as? [String: Any],  // text: likewise
            (info["author"] as? String)?.isSame(as: author) == true,
            let images = json["images"] as? [[String: Any]],  // text: likewise
            images.count == 1,
            let file = images[0]["filename"] as? String, stem(ofImage: file) != nil
        else { return false }
        return true
    }

    /// Returns an image's name without its extension, or nil for a name that exports never create.
    static func stem(ofImage file: String) -> String? {
        guard ImageFile.isSuffix(PathExtension.ofText(file)),
            file.utf8.first != UInt8(ascii: "."), !file.utf8.contains(UInt8(ascii: "/"))
        else { return nil }
        return PathExtension.without(file)
    }

    /// Whether an export can create the file name in a set with this stem.
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
}
