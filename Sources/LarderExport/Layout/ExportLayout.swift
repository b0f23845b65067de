/// The directory structure that another program reads.
public enum ExportLayout: String, CaseIterable, Sendable {
    /// Nuke's `DataCache`.
    case nuke
    /// SDWebImage's `SDDiskCache`.
    case sdwebimage
    /// Kingfisher's `DiskStorage`.
    case kingfisher
    /// The `DiskCache` of Coil 3.
    case coil
    /// The `DiskCache` of Coil 2.
    case coil2
    /// Glide's `DiskLruCacheWrapper`.
    case glide
    /// Files with names for people, and a list of them.
    case files
    /// Xcode's asset catalog.
    case assetCatalog = "asset-catalog"
    /// A page with all icons, as static files.
    case gallery

    /// Whether it is a directory in DIR whose name an app can choose.
    public var hasFolder: Bool {
        switch self {
        case .nuke, .sdwebimage, .kingfisher, .coil, .coil2, .glide: true
        case .files, .assetCatalog, .gallery: false
        }
    }

    /// Whether text names a directory, and leads to no other place.
    public static func isFolder(_ name: String) -> Bool {
        (1...255).contains(name.utf8.count) && !name.isSame(as: ".") && !name.isSame(as: "..")
            && name.utf8.allSatisfy { $0 >= 0x20 && $0 != 0x7F && $0 != UInt8(ascii: "/") }
    }

    /// Whether something in it says which URL a file is of.
    public var isImportable: Bool { self != .assetCatalog && self != .gallery }
}
