import LarderIcons

extension RehearsalOptions {
    /// The strategy that is asked for.
    package func makeStrategy(
        _ screen: TableScreen, _ fetcher: any IconFetcher, _ inbox: Inbox,
        _ pressure: MemoryPressure
    ) -> any LoadingStrategy {
        func queue(_ images: ImageDictionary?, shares: Bool) -> QueueStrategy {
            QueueStrategy(
                screen, fetcher, inbox, maximumConcurrent: maximumConcurrent, images: images,
                sharesDownloads: shares)
        }
        return switch strategy {
        case .synchronous: SynchronousStrategy(screen, fetcher, inbox)
        case .asynchronous: queue(nil, shares: false)
        case .memory: queue(ImageDictionary(pressure), shares: false)
        case .coalescing: queue(ImageDictionary(pressure), shares: true)
        case .sandbox: SandboxStrategy(screen, fetcher, inbox, self, pressure)
        }
    }
}
