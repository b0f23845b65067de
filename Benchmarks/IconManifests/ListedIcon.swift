import Foundation

/// An entry of a list.
struct ListedIcon {
    let name: String
    let url: String
    /// The unique path to which peers write the icon.
    let file: String

    /// - Parameter base: The origin's URL, in which `{host}` is replaced by `host`.
    init(path: String, base: String, host: String) {
        let escaped = path.addingPercentEncoding(withAllowedCharacters: .urlPathAllowed) ?? path
        name = String(path.split(separator: "/").last ?? "")
        url = "\(base.replacingOccurrences(of: "{host}", with: host))/\(escaped)"
        file = path
    }

    /// A repetition of an icon, with a unique query.
    init(_ icon: ListedIcon, round: Int) {
        name = icon.name
        url = round == 0 ? icon.url : "\(icon.url)?n=\(round)"
        file = round == 0 ? icon.file : "\(round)/\(icon.file)"
    }
}
