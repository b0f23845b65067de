import Foundation
import LarderIcons
import Synchronization

/// All images that were ever downloaded, until memory is short.
final class ImageDictionary: Sendable {
    private struct State {
        var images: [URL: LoadedImage] = [:]
        var bytes = 0
    }

    private let state = Mutex(State())
    private let observation = Mutex<MemoryPressure.Observation?>(nil)

    init(_ pressure: MemoryPressure) {
        let observed = pressure.observe { [weak self] _ in
            self?.state.withLock { $0 = State() }
        }
        observation.withLock { $0 = observed }
    }

    var bytes: Int { state.withLock { $0.bytes } }

    subscript(url: URL) -> LoadedImage? { state.withLock { $0.images[url] } }

    func keep(_ image: LoadedImage) {
        state.withLock { state in
            let replaced = state.images.updateValue(image, forKey: image.url)
            state.bytes += image.data.count - (replaced?.data.count ?? 0)
        }
    }
}
