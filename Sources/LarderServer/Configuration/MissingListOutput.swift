import Foundation
import LarderKit
import LarderTransfer

/// Where the list of missing icons is kept.
public struct MissingListOutput: Sendable {
    /// A list has no more URLs.
    public static let maximumURLs = 10_000
    /// Nor have they more bytes.
    public static let maximumBytes = 2 << 20
    /// No text of a list is longer, in bytes: one of a URL's may become six, and each URL has a
    /// line of its own.
    public static let maximumSize = maximumBytes * 6 + maximumURLs * 16

    /// Reads what was kept last.
    let load: @Sendable () throws -> [String]
    /// Takes the list's whole text in the place of the last one.
    let store: @Sendable (String) throws -> Void

    /// Takes both ways.
    ///
    /// - Parameters:
    ///   - load: reads the URLs that were kept last, called once; ``urls(of:)`` has them.
    ///   - store: keeps a manifest, called seconds apart and never twice at a time.
    public init(
        load: @escaping @Sendable () throws -> [String],
        store: @escaping @Sendable (String) throws -> Void
    ) {
        self.load = load
        self.store = store
    }

    /// A list's whole text.
    ///
    /// - Parameter urls: in their order.
    public static func text(of urls: [String]) -> String {
        let lines = urls.map { url in
            var entry = JSONObject()
            entry.set("icon", exactly: url)
            return entry.text
        }
        return lines.isEmpty ? "[]\n" : "[\n\(lines.joined(separator: ",\n"))\n]\n"
    }

    /// The URLs of a list's text; none, if that is empty or `[]`.
    ///
    /// - Returns: nil if it is not byte by byte what a server keeps: a manifest of people's, which
    ///   is not to be replaced.
    public static func urls(of text: Data) -> [String]? {
        if text.isEmpty || text.elementsEqual("[]".utf8) { return [] }
        guard text.count <= maximumSize,
            let entries = try? JSONDecoder().decode([Line].self, from: text)
        else { return nil }
        let urls = entries.map(\.icon)
        guard urls.count <= maximumURLs, urls.allSatisfy(isKept),
            urls.reduce(0, { $0 + $1.utf8.count }) <= maximumBytes,
            Set(urls.map { Array($0.utf8) }).count == urls.count,
            Self.text(of: urls).utf8.elementsEqual(text)
        else { return nil }
        return urls
    }

    private struct Line: Decodable {
        let icon: String
    }

    /// Whether it is one that may be on a list: it can be fetched, and has no user or password.
    static func isKept(_ url: String) -> Bool {
        guard url.utf8.count <= ManifestLimits.maximumURLSize, let parsed = try? HTTPURL(url)
        else { return false }
        return parsed.credentials == nil
    }
}
