import ArgumentParser
import LarderExport

/// What goes with which layout, for `export` and `import`.
enum LayoutUsage {
    static func validate(
        _ layout: ExportLayout, kingfisherVersion: Int, folder: String?, directory: String
    ) throws {
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
