import LarderCache
import LarderKit

/// What a forward proxy is asked for: the exact URL, looked up and never fetched.
struct MirrorRoute: StoredRoute {
    let store: IconStore
    let answer: IconAnswer

    /// Its URLs are told apart from paths before any path is looked at.
    func takes(_ path: Substring.UTF8View) -> Bool { false }

    func answer(_ request: RoutedRequest) throws -> Response {
        let url = String(request.path)
        guard url.utf8.count <= ManifestLimits.maximumURLSize else { return answer.missing(nil) }
        // curl and Python's requests leave out the `?` of an empty query.
        let withQuery = url.utf8.contains(UInt8(ascii: "?")) ? nil : url + "?"
        let found = try store.icon(
            url, or: withQuery, key: request.key, fields: answer.changing,
            for: request.request.client)
        guard let found else {
            return answer.missing(url)
        }
        return answer.found(found, request.request)
    }
}
