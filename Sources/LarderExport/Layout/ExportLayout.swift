import Foundation
import LarderCore

/// The directory structure that another program reads.
package enum ExportLayout: String, CaseIterable, Sendable {
    case nuke, sdwebimage, kingfisher, kingfisher7, coil, coil2, glide
    /// Files with readable names, and a list of them.
    case files
    case assetCatalog = "asset-catalog"
    case gallery

    /// The rules of the library that reads the directory; nil if none does.
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

    /// The same, with the name that an app has given the library's directory; nil is its own.
    func library(in folder: String?) -> (any KeyedLayout)? {
        var library = library
        if let folder {
            precondition(Self.isFolder(folder), "not the name of a directory")
            library?.folders.removeLast()
            library?.folders.append(folder)
        }
        return library
    }

    /// Whether it is a directory in DIR whose name an app can choose.
    package var hasFolder: Bool { library != nil }

    /// Whether ``SeedInstaller`` makes a source file for it.
    package var hasInstaller: Bool { library?.seed != nil }

    /// Whether something in it says which URL a file is of.
    package var isImportable: Bool { library != nil || self == .files }

    /// Whether text names a directory, and leads to no other place.
    package static func isFolder(_ name: String) -> Bool {
        (1...255).contains(name.utf8.count) && !name.isSame(as: ".") && !name.isSame(as: "..")
            && name.utf8.allSatisfy { $0 >= 0x20 && $0 != 0x7F && $0 != UInt8(ascii: "/") }
    }

    package static func names(where has: (ExportLayout) -> Bool) -> String {
        allCases.filter(has).map(\.rawValue).joined(separator: ", ")
    }
}

/// The disk cache of a library: its place, and the names of the files of a URL.
protocol KeyedLayout: Sendable {
    /// The directories from the outermost. An app can choose the name of the last.
    var folders: [String] { get set }

    /// Returns the beginning of the names of a URL's files. It differs for each URL.
    func stem(of url: String) -> String
    /// Returns the stem of a file's name; nil if the library would give no file that name.
    func stem(ofFile name: String) -> String?

    /// The names under which the library looks for a URL's bytes, in its order. Default: the stem.
    func names(of url: String) -> [String]
    /// The date of last modification that files must have. With one, no file may be a hard link to
    /// the cache's, which has a date of its own. Default: nil, any.
    var modified: Date? { get }
    /// The form in which the directory lists its files. Default: nil, it does not.
    var journal: JournalForm? { get }
    /// Whether the library stores the bodies of errors, and the status in the first other file.
    /// Default: false.
    var storesErrors: Bool { get }
    /// How an app installs the files at launch. Default: nil, no source file is made for it.
    var seed: AppSeed? { get }
}

extension KeyedLayout {
    var modified: Date? { nil }
    var journal: JournalForm? { nil }
    var storesErrors: Bool { false }
    var seed: AppSeed? { nil }

    func names(of url: String) -> [String] { [file(stem(of: url))] }

    /// The name of the file that has the bytes.
    func file(_ stem: String) -> String { journal?.dataFile(stem) ?? stem }
}

/// What ``SeedInstaller`` has to know of a library.
struct AppSeed {
    enum Dates {
        case any
        /// Files are removed some days after the date of their last modification.
        case modification
        /// That date is the expiry, and the date of creation is the last access.
        case expiry
    }

    let library: String
    /// When an app must have called the installer.
    let moment: String
    var dates = Dates.any
}

extension String {
    /// Whether it is that many hexadecimal digits in lower case.
    func isHex(_ count: Int) -> Bool {
        utf8.count == count && utf8.allSatisfy { $0.isDigit || 0x61...0x66 ~= $0 }
    }
}
