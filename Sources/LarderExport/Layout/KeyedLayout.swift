import Foundation

/// Where a library has its disk cache, and under which name it looks for a URL.
protocol KeyedLayout: Sendable {
    /// The directories beneath the one that is exported to, from the outermost. An app can choose
    /// the name of the last.
    var folders: [String] { get set }
    /// The date of last modification that files must have; nil: any. With one, no file may be
    /// another name of the cache's own, which has one date with it.
    var modified: Date? { get }
    /// How the directory lists its files; nil if it does not.
    var journal: JournalForm? { get }
    /// Whether the library stores the bodies of errors, and the status in the first other file.
    var storesErrors: Bool { get }

    /// What the name of a URL's files begins with, and what tells them from others'.
    func stem(of url: String) -> String
    /// The names under which the library looks for a URL's bytes, in its order.
    func names(of url: String) -> [String]
    /// The stem of a file's name; nil if the library would give no file that name.
    func stem(ofFile name: String) -> String?
}

extension KeyedLayout {
    /// A date that never expires: the end of 2037, the last year that 32 bits have seconds for, as
    /// some archives do. The same in every export, so that the same cache gives the same tree.
    static var lastDate: Date { Date(timeIntervalSince1970: 2_145_830_400) }

    var modified: Date? { nil }
    var journal: JournalForm? { nil }
    var storesErrors: Bool { false }

    /// The names under which the library looks for a URL's bytes, in its order.
    func names(of url: String) -> [String] { [file(stem(of: url))] }

    /// The name of the file that has the bytes.
    func file(_ stem: String) -> String { journal?.dataFile(stem) ?? stem }
}

extension ExportLayout {
    /// The rules of a library; nil of a layout that is none's.
    ///
    /// - Parameters:
    ///   - kingfisherVersion: 7 or 8.
    ///   - folder: the name that an app has given the library's directory; nil: the library's own.
    func keyed(kingfisherVersion: Int, folder: String?) -> (any KeyedLayout)? {
        var layout: (any KeyedLayout)? =
            switch self {
            case .nuke: NukeLayout()
            case .sdwebimage: SDWebImageLayout()
            case .kingfisher: KingfisherLayout(version: kingfisherVersion)
            case .coil: CoilLayout(version: 3)
            case .coil2: CoilLayout(version: 2)
            case .glide: GlideLayout()
            case .files, .assetCatalog, .gallery: nil
            }
        if let folder {
            precondition(Self.isFolder(folder), "a name that is no directory's")
            layout?.folders.removeLast()
            layout?.folders.append(folder)
        }
        return layout
    }
}
