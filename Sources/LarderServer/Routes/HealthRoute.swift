/// `/healthz`: whether the server answers.
struct HealthRoute: Route {
    private static let answer = Response(200, text: "ok")

    func takes(_ path: Substring.UTF8View) -> Bool { path.elementsEqual("/healthz".utf8) }

    func answerAtOnce(_ request: RoutedRequest) -> Response? { Self.answer }

    func answer(_ request: RoutedRequest) -> Response { Self.answer }
}
