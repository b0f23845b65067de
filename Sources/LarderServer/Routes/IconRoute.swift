import LarderCache
import LarderKit

/// `/icon?url=…`: the icon of a URL in any spelling, or of another key, such as `key:app-1`.
struct IconRoute: StoredRoute {
    let store: IconStore
    let answer: IconAnswer

    func takes(_ path: Substring.UTF8View) -> Bool { path.elementsEqual("/icon".utf8) }

    func answer(_ request: RoutedRequest) throws -> Response {
        guard let query = request.query?.utf8,
            let value = query.split(separator: UInt8(ascii: "&"))
                .first(where: { $0.starts(with: "url=".utf8) })
        else { return Response(400, text: "Ask for /icon?url= and a percent-encoded URL.") }
        guard let url = PercentDecoding.url(value.dropFirst(4)), !url.utf8.isEmpty,
            url.utf8.count <= ManifestLimits.maximumURLSize
        else { return Response(400, text: "What is behind url= is no percent-encoded URL.") }
        let found = try store.icon(
            url, key: request.key, fields: answer.changing, for: request.request.client)
        guard let found else {
            // What a page of another site asks for is nothing that anybody here lacks.
            return answer.missing(request.request.isCrossSite ? nil : url)
        }
        return answer.found(found, request.request)
    }
}
