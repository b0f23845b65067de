import Foundation
import LarderIcons
import Synchronization

/// One download for a thread that waits for it, as `Data(contentsOf:)` does.
struct BlockingFetch {
    private final class Answer: Sendable {
        let isThere = DispatchSemaphore(value: 0)
        let image = Mutex<LoadedImage?>(nil)
    }

    let fetcher: any IconFetcher
    let inbox: Inbox

    /// The image; nil if there is none to be had, or all has ended.
    func image(of url: URL) -> LoadedImage? {
        let answer = Answer()
        let task = Task.detached { [fetcher] in
            let icon = try? await fetcher.fetch(IconRequest(url: url))
            answer.image.withLock { $0 = icon.map { LoadedImage(url: url, data: $0.data) } }
            answer.isThere.signal()
        }
        while answer.isThere.wait(timeout: .now() + .milliseconds(50)) == .timedOut {
            if inbox.hasEnded { task.cancel() }
        }
        return answer.image.withLock { $0 }
    }
}
