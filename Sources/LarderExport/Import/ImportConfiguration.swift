import LarderKit

/// What is imported, and how.
public struct ImportConfiguration: Sendable {
    /// Whose cache it is: a layout that ``ExportLayout/isImportable``.
    public var layout: ExportLayout
    /// The directory beneath which the layout's own one is.
    public var directory: String
    /// 8 and later name files by SHA-256, 7 by MD5. Default: 8.
    public var kingfisherVersion = 8
    /// How many bytes a file may have. Default: 16 MiB.
    public var maximumBytes: Int64 = 16 << 20
    /// Whether files are adopted that are no images. Default: false.
    public var acceptsAnyContent = false
    /// How manifests are read. Default: as their content tells.
    public var manifestRules = ManifestRules()

    /// Takes what has no default.
    public init(layout: ExportLayout, directory: String) {
        self.layout = layout
        self.directory = directory
    }
}
