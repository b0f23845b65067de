import LarderKit

/// What is exported, and how.
public struct ExportConfiguration: Sendable {
    /// For whom.
    public var layout: ExportLayout
    /// The directory beneath which the layout's own one is; made if it is not there.
    public var directory: String
    /// 8 and later name files by SHA-256, 7 by MD5. Default: 8.
    public var kingfisherVersion = 8
    /// The name of the library's directory, where an app has chosen it; one that
    /// ``ExportLayout/isFolder(_:)``. Default: nil, the library's own.
    public var folder: String?
    /// Whether files of icons that are no longer there are removed. Default: false.
    public var isPruning = false
    /// Whether every file is a copy of its own, though it could be a clone or a hard link. Default:
    /// false.
    public var copiesAll = false
    /// How manifests are read. Default: as their content tells.
    public var manifestRules = ManifestRules()

    /// The rules of the layout's library; nil of a layout that is none's.
    var keyed: (any KeyedLayout)? {
        layout.keyed(kingfisherVersion: kingfisherVersion, folder: folder)
    }

    /// Takes what has no default.
    public init(layout: ExportLayout, directory: String) {
        self.layout = layout
        self.directory = directory
    }
}
