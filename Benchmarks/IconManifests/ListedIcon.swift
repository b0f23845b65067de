import Foundation

/// An icon to be fetched, once or several times.
struct ListedIcon {
    let name: String
    let url: String
    /// Where a peer is to write it; no two are the same.
    let file: String

    /// - Parameter round: how often the same path was listed before; another query tells them apart.
    init(path: String, round: Int, base: String) {
        let escaped = path.addingPercentEncoding(withAllowedCharacters: .urlPathAllowed) ?? path
        name = String(path.split(separator: "/").last ?? "")
        url = "\(base)/\(escaped)" + (round == 0 ? "" : "?n=\(round)")
        file = round == 0 ? path : "\(round)/\(path)"
    }
}
