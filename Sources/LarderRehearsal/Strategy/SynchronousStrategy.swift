import LarderIcons

/// Downloads a row's image when it appears, and the main thread waits for it.
final class SynchronousStrategy: LoadingStrategy {
    private let screen: TableScreen
    private let inbox: Inbox
    private let fetch: BlockingFetch

    init(_ screen: TableScreen, _ fetcher: any IconFetcher, _ inbox: Inbox) {
        self.screen = screen
        self.inbox = inbox
        fetch = BlockingFetch(fetcher: fetcher, inbox: inbox)
    }

    var cachedBytes: Int { 0 }

    func caches(_ image: LoadedImage) -> Bool { false }

    func load(_ request: RowRequest) {
        guard !inbox.hasEnded else { return }
        if let image = fetch.image(of: request.url) {
            screen.put(image, from: .network, in: request.cell)
        } else if !inbox.hasEnded {
            screen.fail(request)
        }
    }

    func receive(_ arrival: Arrival) {}

    func end() -> Epilogue { { nil } }
}
