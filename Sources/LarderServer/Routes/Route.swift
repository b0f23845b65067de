import LarderIcons

/// What answers the requests for some paths. A new one is added in `RouteTable.init`.
protocol Route: Sendable {
    /// Whether it answers for a path, which begins with a slash.
    func takes(_ path: Substring.UTF8View) -> Bool

    /// The answer, if it can be had without waiting for a disk, a lock or another process. On an
    /// event loop.
    func answerAtOnce(_ request: RoutedRequest) -> Response?

    /// The answer. On a thread of the server's pool, of which there are few.
    func answer(_ request: RoutedRequest) throws -> Response
}

extension Route {
    func answerAtOnce(_ request: RoutedRequest) -> Response? { nil }
}

/// A request that has found its route.
struct RoutedRequest: Sendable {
    let request: ServerRequest
    /// The target's path, as it was sent.
    let path: Substring
    /// What is behind the target's question mark; nil if it has none.
    let query: Substring?
    /// The server's URL, as the client knows it, without a slash at its end.
    let base: String
    /// The target, or what it stands for: by that its icon is found in memory.
    let key: CacheKey
}
