import Foundation

/// An icon to be fetched, once or several times.
struct ListedIcon {
    let name: String
    let url: String
    /// Where a peer is to write it; no two are the same.
    let file: String

    /// The icon at a path beneath the origin's address, in which `{host}` is the name of one of
    /// several.
    init(path: String, base: String, host: String) {
        let escaped = path.addingPercentEncoding(withAllowedCharacters: .urlPathAllowed) ?? path
        name = String(path.split(separator: "/").last ?? "")
        url = "\(base.replacingOccurrences(of: "{host}", with: host))/\(escaped)"
        file = path
    }

    /// The same once more; another query tells them apart.
    init(_ icon: ListedIcon, round: Int) {
        name = icon.name
        url = round == 0 ? icon.url : "\(icon.url)?n=\(round)"
        file = round == 0 ? icon.file : "\(round)/\(icon.file)"
    }
}
