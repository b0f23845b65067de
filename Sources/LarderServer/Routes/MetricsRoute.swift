import NIOCore

/// `/metrics`: what the server has done, and what the cache holds, for Prometheus.
struct MetricsRoute: Route {
    let metrics: ServerMetrics
    let store: IconStore
    let status: CachedStatus

    func takes(_ path: Substring.UTF8View) -> Bool { path.elementsEqual("/metrics".utf8) }

    func answer(_ request: RoutedRequest) throws -> Response {
        let text = metrics.prometheus(memory: store.memory) + (try status.prometheus())
        return Response(
            200,
            [
                ("Content-Type", "text/plain; version=0.0.4; charset=utf-8"),
                ("Cache-Control", "no-store"), ("X-Content-Type-Options", "nosniff"),
            ], body: .bytes(ByteBuffer(string: text)))
    }
}
