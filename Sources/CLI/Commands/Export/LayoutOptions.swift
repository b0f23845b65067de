import ArgumentParser
import LarderExport

struct LayoutOptions: ParsableArguments {
    @Option(
        help: .common(
            "The major version of Kingfisher. 7 and earlier use the layout kingfisher7.", "n"))
    var kingfisherVersion = 8

    @Option(
        help: .common(
            """
            The name of the library's directory, if the app sets the name: Nuke's \
            DataCache(name:), SDWebImage's namespace, Coil's directory, or Kingfisher's directory \
            with its prefix.
            """, "name"))
    var folder: String?

    func layout(_ layout: ExportLayout) -> ExportLayout {
        kingfisherVersion < 8 ? .kingfisher7 : layout
    }

    func validate(_ layout: ExportLayout, directory: String) throws {
        try refuse("--kingfisher-version", kingfisherVersion, outside: 1...8)
        if kingfisherVersion != 8, layout != .kingfisher {
            throw ValidationError("--kingfisher-version needs --layout kingfisher.")
        }
        if let folder {
            try refuse(if: !layout.hasFolder, "--folder needs the --layout of a library.")
            guard ExportLayout.isFolder(folder) else {
                throw ValidationError("--folder must be the name of one directory, without '/'.")
            }
        }
        let isCatalog = directory.utf8.reversed().drop { $0 == UInt8(ascii: "/") }
            .starts(with: ".xcassets".utf8.reversed())
        if layout == .assetCatalog, !isCatalog {
            throw ValidationError("The name of an asset catalog must end with .xcassets.")
        }
    }
}

extension ExportLayout: ExpressibleByArgument {}
