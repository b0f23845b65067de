import Foundation
import LarderCore

package enum ExportLayout: String, CaseIterable, Sendable {
    case nuke, sdwebimage, kingfisher, kingfisher7, coil, coil2, glide
    case files
    case assetCatalog = "asset-catalog"
    case gallery

    var library: (any KeyedLayout)? {
        switch self {
        case .nuke: NukeLayout()
        case .sdwebimage: SDWebImageLayout()
        case .kingfisher: KingfisherLayout(version: 8)
        case .kingfisher7: KingfisherLayout(version: 7)
        case .coil: CoilLayout(version: 3)
        case .coil2: CoilLayout(version: 2)
        case .glide: GlideLayout()
        case .files, .assetCatalog, .gallery: nil
        }
    }

    /// Returns the library's naming rules. `folder` is its directory's name, or nil for the
    /// default.
    func library(in folder: String?) -> (any KeyedLayout)? {
        var library = library
        if let folder {
            precondition(Self.isFolder(folder), "invalid directory name")
            library?.folders.removeLast()
            library?.folders.append(folder)
        }
        return library
    }

    /// Whether the exported files are in a subdirectory whose name an app can choose.
    package var hasFolder: Bool { library != nil }

    package var hasInstaller: Bool { library?.seed != nil }

    package var isImportable: Bool { library != nil || self == .files }

    /// Whether the name is valid and cannot lead to another directory.
    package static func isFolder(_ name: String) -> Bool {
        (1...255).contains(name.utf8.count) && !name.isSame(as: ".") && !name.isSame(as: "..")
            && name.utf8.allSatisfy { $0 >= 0x20 && $0 != 0x7F && $0 != UInt8(ascii: "/") }
    }

    package static func names(where has: (ExportLayout) -> Bool) -> String {
        allCases.filter(has).map(\.rawValue).joined(separator: ", ")
    }
}

/// The disk cache of an image library: its directory, and the file names for a URL.
protocol KeyedLayout: Sendable {
    /// The path components of the directory. An app can choose the last one.
    var folders: [String] { get set }

    /// Returns the common prefix of a URL's file names, unique to the URL.
    func stem(of url: String) -> String
    /// Returns the stem of a file name, or nil if the library never creates such a name.
    func stem(ofFile name: String) -> String?

    /// Returns the file names that the library tries for a URL, in order. Default: the stem's file.
    func names(of url: String) -> [String]
    /// The required modification date, which rules out hard links to the cache's files. Default:
    /// nil (any date).
    var modified: Date? { get }
    /// The format of the directory's list of files. Default: nil (no list).
    var journal: JournalForm? { get }
    /// Whether the library stores bodies of error responses, with the status in the first metadata
    /// file. Default: false.
    var storesErrors: Bool { get }
    /// The parameters of ``SeedInstaller``. Default: nil (not supported).
    var seed: AppSeed? { get }
}

extension KeyedLayout {
    var modified: Date? { nil }
    var journal: JournalForm? { nil }
    var storesErrors: Bool { false }
    var seed: AppSeed? { nil }

    func names(of url: String) -> [String] { [file(stem(of: url))] }

    func file(_ stem: String) -> String { journal?.dataFile(stem) ?? stem }
}

struct AppSeed {
    enum Dates {
        case any, modification
        /// The modification date is the expiration date, and the creation date is the last access.
        case expiry
    }

    let library: String
    /// The latest time to call the installer, for example `before you create the cache`.
    let moment: String
    var dates = Dates.any
}

extension String {
    func isHex(_ count: Int) -> Bool {
        utf8.count == count && utf8.allSatisfy { $0.isDigit || 0x61...0x66 ~= $0 }
    }
}
