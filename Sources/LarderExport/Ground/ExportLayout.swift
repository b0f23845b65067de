/// The directory structure that another program reads.
public enum ExportLayout: String, CaseIterable, Sendable {
    /// Nuke's `DataCache`.
    case nuke
    /// SDWebImage's `SDDiskCache`.
    case sdwebimage
    /// Kingfisher's `DiskStorage`.
    case kingfisher
    /// Coil's `DiskCache`.
    case coil
    /// Glide's `DiskLruCacheWrapper`.
    case glide
    /// Files with names for people, and a list of them.
    case files
    /// Xcode's asset catalog.
    case assetCatalog = "asset-catalog"
    /// A page with all icons, as static files.
    case gallery

    /// Whether something in it says which URL a file is of.
    public var isImportable: Bool { self != .assetCatalog && self != .gallery }
}
