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
