import Foundation
import LarderCache
import LarderCore
import LarderImages

package enum LocalizeTarget: Sendable {
    /// Files in a directory. `prefix`, its URL relative to the output, is empty or ends with `/`.
    case icons(directory: String, prefix: String)
    /// The URL of a server, without a trailing slash.
    case server(String)
    /// `data:` URLs of icons up to this size in bytes.
    case data(limit: Int64)

    package static func icons(_ directory: String, seenFrom folder: String) -> LocalizeTarget {
        let ends = [UsersPath(folder), UsersPath(directory)]
        func steps(_ path: KeyPath<UsersPath, String>) -> [String] {
            let parts = ends.map { UsersPath.names(in: $0[keyPath: path]) }
            let common = zip(parts[0], parts[1]).prefix { $0.isSame(as: $1) }.count
            return parts[0].dropFirst(common).map { _ in ".." } + parts[1].dropFirst(common)
        }
        var names = steps(\.named)
        // After a symbolic link, `..` would be the parent of the link's target.
        if names.contains(where: { $0.isSame(as: "..") }) { names = steps(\.place) }
        let prefix = names.map { $0.utf8.percentEncoded(except: \.isUnreserved) + "/" }.joined()
        return .icons(directory: directory, prefix: prefix)
    }

    package static func url(of key: String, at server: String) -> String {
        // The unescaped bytes have no special meaning in a query (RFC 3986).
        let key = key.utf8.percentEncoded { $0.isUnreserved || "/:".utf8.contains($0) }
        return "\(server)/icon?url=\(key)"
    }

    /// Returns the key in a URL from ``url(of:at:)``, or nil for other URLs.
    package static func encodedKey(in url: String, at server: String) -> Substring? {
        let prefix = "\(server)/icon?url=".utf8
        return url.utf8.starts(with: prefix) ? Substring(url.utf8.dropFirst(prefix.count)) : nil
    }

    /// Whether an earlier run wrote the value. The path of a file counts only if the file exists
    /// and its name contains a digest.
    package func isOwn(_ value: String) -> Bool {
        switch self {
        case .icons(let directory, let prefix):
            guard value.utf8.starts(with: prefix.utf8) else { return false }
            let name = String(Substring(value.utf8.dropFirst(prefix.utf8.count)))
            return name.wholeMatch(of: /[\w.-]*-[0-9a-f]{8,64}\.[a-z0-9]+/) != nil
                && access("\(directory)/\(name)", F_OK) == 0
        case .server(let server): return Self.encodedKey(in: value, at: server) != nil
        case .data: return false
        }
    }

    static func dataURL(_ bytes: [UInt8], mediaType: String?) -> String {
        let type = mediaType ?? "application/octet-stream"
        return "data:\(type);base64,\(Data(bytes).base64EncodedString())"
    }
}

package enum PlaceholderIcon {
    package static let svg = """
        <svg xmlns="http://www.w3.org/2000/svg" width="64" height="64" viewBox="0 0 64 64">\
        <rect x="2" y="2" width="60" height="60" rx="14" fill="#d8d8d8" stroke="#b0b0b0" \
        stroke-width="2"/></svg>

        """
}
