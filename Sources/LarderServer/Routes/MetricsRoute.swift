import NIOCore

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
