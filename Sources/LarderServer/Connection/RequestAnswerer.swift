import LarderCache
import NIOCore
import NIOPosix

/// Finds answers: at once, or on a thread of the pool.
struct RequestAnswerer: Sendable {
    let routes: RouteTable
    let pool: NIOThreadPool
    let readings: ObjectReadings
    let metrics: ServerMetrics
    let onProblem: @Sendable (String) -> Void
    let accessLog: (@Sendable (String) -> Void)?

    /// Answers a request.
    ///
    /// - Parameter done: called on a thread of the pool with the response, unless that is returned.
    ///   Not called once the client is gone.
    /// - Returns: the response if it takes no waiting.
    func answer(
        _ request: ServerRequest, _ done: @escaping @Sendable (Response) -> Void
    ) -> Response? {
        metrics.requests.add(1, ordering: .relaxed)
        switch routes.choice(for: request) {
        case .refusal(let response):
            metrics.refused.add(1, ordering: .relaxed)
            return response
        case .route(let route, let routed):
            if let response = route.answerAtOnce(routed) { return response }
            submit(route, routed, done)
            return nil
        }
    }

    private func submit(
        _ route: any Route, _ request: RoutedRequest,
        _ done: @escaping @Sendable (Response) -> Void
    ) {
        let client = request.request.client
        pool.submit { state in
            // The pool is shutting down, or the client has disconnected.
            guard state == .active, !client.isGone else { return }
            do {
                done(try route.answer(request))
            } catch let busy as ObjectReadings.Busy {
                readings.wait(for: busy, client) { submit(route, request, done) }
            } catch is CancellationError {
                return
            } catch {
                done(response(to: error))
            }
        }
    }

    private func response(to error: any Error) -> Response {
        if let error = error as? CacheError, error.isOfDamagedObject {
            return Response(
                500, text: "The cached object is damaged; larder verify --repair mends it.")
        }
        metrics.failures.add(1, ordering: .relaxed)
        onProblem("\(error)")
        return Response(500, text: "The cache cannot be read.")
    }
}
