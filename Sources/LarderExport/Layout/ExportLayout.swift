import LarderCore

package enum ExportLayout: String, CaseIterable, Sendable {
    case nuke, sdwebimage, kingfisher, kingfisher7, coil, coil2, glide
    case files
    case assetCatalog = "asset-catalog"
    case gallery

    var library: KeyedLayout? {
        switch self {
        case .nuke: .nuke
        case .sdwebimage: .sdWebImage
        case .kingfisher: .kingfisher(digits: 64)
        case .kingfisher7: .kingfisher(digits: 32)
        case .coil: .coil
        case .coil2: .coil2
        case .glide: .glide
        case .files, .assetCatalog, .gallery: nil
        }
    }

    /// Returns the library's naming rules, with `folder` as the directory's name unless it is nil.
    func library(in folder: String?) -> KeyedLayout? {
        var library = library
        if let folder {
            precondition(Self.isFolder(folder), "invalid directory name")
            library?.folders.removeLast()
            library?.folders.append(folder)
        }
        return library
    }

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
