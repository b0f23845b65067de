import Foundation
import LarderExport
import Testing

/// A gallery's data, decoded as the page reads it.
struct ReadGallery {
    struct About: Decodable {
        let version: Int
        let received: Double?
        let objects: String
        let files: [String]
        let shown: Int
        let total: Int
        let manifests: [String]
    }

    struct Icon: Decodable {
        let name: String
        let url: String?
        let host: String?
        let manifest: Int?
        let state: String
        let note: String?
        let failed: Double?
        let image: String?
        let digest: String?
        let size: Int?
        let type: String?
    }

    let about: About
    private(set) var icons: [Icon] = []

    init(_ files: [String: [UInt8]]) throws {
        func argument<Value: Decodable>(of call: String, in path: String) throws -> Value {
            let text = String(decoding: try #require(files[path]), as: UTF8.self)
            try #require(text.hasPrefix(call) && text.hasSuffix(")\n"), "\(path)")
            return try JSONDecoder().decode(
                Value.self, from: Data(text.dropFirst(call.count).dropLast(2).utf8))
        }
        about = try argument(of: "larder.begin(", in: GalleryFile.catalogue)
        for (number, path) in about.files.enumerated() {
            icons += try argument(of: "larder.add(\(number), ", in: path) as [Icon]
        }
    }
}
