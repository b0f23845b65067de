/// The directory structure that another program reads.
public enum ExportLayout: String, CaseIterable, Sendable {
    case nuke
    case sdwebimage
    case kingfisher
    case coil
    case glide
    case files
    case assetCatalog = "asset-catalog"
    case gallery
}
