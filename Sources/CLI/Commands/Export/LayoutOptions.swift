import ArgumentParser
import LarderExport

struct LayoutOptions: ParsableArguments {
    @Option(
        help: ArgumentHelp(
            "The major version of Kingfisher. 7 and earlier are the layout kingfisher7.",
            valueName: "n"))
    var kingfisherVersion = 8

    @Option(
        help: ArgumentHelp(
            """
            The name of the library's directory, if the app has its own: Nuke's DataCache(name:), \
            SDWebImage's namespace, Coil's directory; of Kingfisher, the whole name of the \
            directory, with its prefix.
            """, valueName: "name"))
    var folder: String?

    func layout(_ layout: ExportLayout) -> ExportLayout {
        kingfisherVersion < 8 ? .kingfisher7 : layout
    }

    func validate(_ layout: ExportLayout, directory: String) throws {
        guard (1...8).contains(kingfisherVersion) else {
            throw ValidationError("--kingfisher-version must be from 1 to 8, the newest known.")
        }
        if kingfisherVersion != 8, layout != .kingfisher {
            throw ValidationError("--kingfisher-version needs --layout kingfisher.")
        }
        if let folder {
            guard layout.hasFolder else {
                throw ValidationError("--folder is for the layouts of libraries.")
            }
            guard ExportLayout.isFolder(folder) else {
                throw ValidationError("--folder must be the name of one directory, without '/'.")
            }
        }
        let isCatalog = directory.utf8.reversed().drop { $0 == UInt8(ascii: "/") }
            .starts(with: ".xcassets".utf8.reversed())
        if layout == .assetCatalog, !isCatalog {
            throw ValidationError("An asset catalog's name must end with .xcassets.")
        }
    }
}

extension ExportLayout: ExpressibleByArgument {}
