import LarderCore
import NIOCore

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

/// A route that answers with what is stored: from memory at once, if it is there.
protocol StoredRoute: Route {
    var store: IconStore { get }
    var answer: IconAnswer { get }
}

extension StoredRoute {
    func answerAtOnce(_ request: RoutedRequest) -> Response? {
        store.iconAtOnce(request.key).map { answer.found($0, request.request) }
    }
}

/// `/healthz`: whether the server answers.
struct HealthRoute: Route {
    private static let answer = Response(200, text: "ok")

    func takes(_ path: Substring.UTF8View) -> Bool { path.elementsEqual("/healthz".utf8) }

    func answerAtOnce(_ request: RoutedRequest) -> Response? { Self.answer }

    func answer(_ request: RoutedRequest) -> Response { Self.answer }
}

/// `/metrics`: what the server has done, and what the cache holds, for Prometheus.
struct MetricsRoute: Route {
    let metrics: ServerMetrics
    let store: IconStore
    let status: CachedStatus
    let onProblem: @Sendable (String) -> Void

    func takes(_ path: Substring.UTF8View) -> Bool { path.elementsEqual("/metrics".utf8) }

    /// The server's own are there also if the cache cannot be read.
    func answer(_ request: RoutedRequest) -> Response {
        var ofCache = ""
        do {
            ofCache = try status.prometheus()
        } catch {
            metrics.failures.add(1, ordering: .relaxed)
            onProblem("\(error)")
        }
        let text = metrics.prometheus(memory: store.memory) + ofCache
        return Response(
            200,
            [
                ("Content-Type", "text/plain; version=0.0.4; charset=utf-8"),
                ("Cache-Control", "no-store"), ("X-Content-Type-Options", "nosniff"),
                ("Cross-Origin-Resource-Policy", "same-origin"),
            ], body: .bytes(ByteBuffer(string: text)))
    }
}
