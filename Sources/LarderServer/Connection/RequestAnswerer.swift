import LarderCache
import NIOCore
import NIOPosix

/// Finds answers: at once, or on a thread of the pool.
struct RequestAnswerer: Sendable {
    let routes: RouteTable
    let pool: NIOThreadPool
    let metrics: ServerMetrics
    let onProblem: @Sendable (String) -> Void
    let accessLog: (@Sendable (String) -> Void)?

    /// What a request comes to on the event loop: its answer, or what has to be asked on the pool.
    enum Outcome {
        case now(Response)
        case later(@Sendable () -> Response)
    }

    func outcome(of request: ServerRequest) -> Outcome {
        metrics.requests.add(1, ordering: .relaxed)
        switch routes.choice(for: request) {
        case .refusal(let response):
            metrics.refused.add(1, ordering: .relaxed)
            return .now(response)
        case .route(let route, let routed):
            if let response = route.answerAtOnce(routed) { return .now(response) }
            return .later { answer(route, routed) }
        }
    }

    private func answer(_ route: any Route, _ request: RoutedRequest) -> Response {
        do {
            return try route.answer(request)
        } catch let error as CacheError where error.code == .corrupt {
            return Response(
                500, text: "The cached object is damaged; larder verify --repair mends it.")
        } catch {
            metrics.failures.add(1, ordering: .relaxed)
            onProblem("\(error)")
            return Response(500, text: "The cache cannot be read.")
        }
    }
}
