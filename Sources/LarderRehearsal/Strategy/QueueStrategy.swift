import Foundation
import LarderIcons

/// Downloads a row's image by a queue, and never cancels one. It may keep the images, and share the
/// downloads under way.
final class QueueStrategy: LoadingStrategy {
    private let screen: TableScreen
    private let inbox: Inbox
    private let queue: DownloadQueue
    private let images: ImageDictionary?
    private let sharesDownloads: Bool
    /// If downloads are shared: who waits for each.
    private var waiting: [URL: [RowRequest]] = [:]

    /// - Parameters:
    ///   - images: keeps them. Nil: nothing does.
    ///   - sharesDownloads: whether a URL that is being downloaded is waited for.
    init(
        _ screen: TableScreen, _ fetcher: any IconFetcher, _ inbox: Inbox,
        maximumConcurrent: Int, images: ImageDictionary? = nil, sharesDownloads: Bool = false
    ) {
        self.screen = screen
        self.inbox = inbox
        self.images = images
        self.sharesDownloads = sharesDownloads
        queue = DownloadQueue(fetcher, maximumConcurrent: maximumConcurrent)
    }

    var cachedBytes: Int { images?.bytes ?? 0 }

    func caches(_ image: LoadedImage) -> Bool { images?[image.url] != nil }

    func load(_ request: RowRequest) {
        if let image = images?[request.url] {
            return screen.put(image, from: .memory, in: request.cell)
        }
        if sharesDownloads {
            waiting[request.url, default: []].append(request)
            if waiting[request.url]?.count ?? 0 > 1 { return }
        }
        queue.add(request.url) { [inbox] image in
            inbox.post(Arrival(request, image, from: .network))
        }
    }

    func receive(_ arrival: Arrival) {
        if let image = arrival.image { images?.keep(image) }
        let requests =
            sharesDownloads
            ? waiting.removeValue(forKey: arrival.request.url) ?? [] : [arrival.request]
        for request in requests where screen.isShowing(request) {
            if let image = arrival.image {
                screen.put(image, from: .network, in: request.cell)
            } else {
                screen.fail(request)
            }
        }
    }

    func end() -> Epilogue {
        queue.end()
        return { nil }
    }
}
