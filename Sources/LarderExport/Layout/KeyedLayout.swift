import Foundation

/// Where a library has its disk cache, and under which name it looks for a URL.
protocol KeyedLayout: Sendable {
    /// The directories beneath the one that is exported to, from the outermost.
    var folders: [String] { get }
    /// The date of last modification that files must have; nil: any. With one, no file may be
    /// another name of the cache's own, which has one date with it.
    var modified: Date? { get }
    /// How the directory lists its files; nil if it does not.
    var journal: JournalForm? { get }

    /// What the name of a URL's files begins with, and what tells them from others'.
    func stem(of url: String) -> String
    /// The names under which the library looks for a URL's bytes, in its order.
    func names(of url: String) -> [String]
    /// The stem of a file's name; nil if the library would give no file that name.
    func stem(ofFile name: String) -> String?
}

extension KeyedLayout {
    var modified: Date? { nil }
    var journal: JournalForm? { nil }

    /// The names under which the library looks for a URL's bytes, in its order.
    func names(of url: String) -> [String] { [file(stem(of: url))] }

    /// The name of the file that has the bytes.
    func file(_ stem: String) -> String { journal?.dataFile(stem) ?? stem }
}

extension ExportLayout {
    /// The rules of a library; nil of a layout that is none's.
    ///
    /// - Parameter kingfisherVersion: 7 or 8.
    func keyed(kingfisherVersion: Int) -> (any KeyedLayout)? {
        switch self {
        case .nuke: NukeLayout()
        case .sdwebimage: SDWebImageLayout()
        case .kingfisher: KingfisherLayout(version: kingfisherVersion)
        case .coil: CoilLayout()
        case .glide: GlideLayout()
        case .files, .assetCatalog, .gallery: nil
        }
    }
}
