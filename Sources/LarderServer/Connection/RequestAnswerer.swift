import Foundation
import LarderCache
import LarderCore
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

/// A line of the request log.
struct AccessEntry {
    private let client: String
    private let method: String
    private let target: String
    private let start = ContinuousClock.now

    init(_ request: ServerRequest, _ client: SocketAddress?) {
        self.client = client?.ipAddress ?? ""
        method = request.method.rawValue
        target = request.target
    }

    /// One JSON object with a line end. Nothing in it can end the line or steer a terminal.
    ///
    /// - Parameter bytes: of the body.
    func line(status: Int, bytes: Int64) -> String {
        var object = JSONObject()
        object.set("time", UTCTime.timestamp(Date()))
        object.set("client", client)
        object.set("method", method)
        object.set("target", exactly: TargetMask.shown(target))
        object.set("status", status)
        object.set("bytes", bytes)
        object.set("seconds", fine: (ContinuousClock.now - start) / .seconds(1))
        return object.text + "\n"
    }
}
