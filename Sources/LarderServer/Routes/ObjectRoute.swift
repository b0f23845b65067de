import LarderCache

/// `/objects/sha256/<digest>`: the bytes of a digest, which never change.
struct ObjectRoute: StoredRoute {
    private static let prefix = "/objects/sha256/"

    let store: IconStore
    let answer: IconAnswer

    func takes(_ path: Substring.UTF8View) -> Bool { path.starts(with: Self.prefix.utf8) }

    func answer(_ request: RoutedRequest) throws -> Response {
        let name = request.path.dropFirst(Self.prefix.count)
        // One spelling: an object has one URL.
        guard let digest = Digest(hex: name), digest.hex.isSame(as: name) else {
            return Response(404, text: "An object's name is 64 hexadecimal digits in lower case.")
        }
        let found = try store.icon(
            digest, key: request.key, fields: answer.unchanging, for: request.request.client)
        guard let found else {
            return answer.absent()
        }
        return answer.found(found, request.request)
    }
}
