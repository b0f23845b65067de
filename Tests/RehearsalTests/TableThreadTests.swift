import LarderIcons
import Testing

@testable import rehearse

/// The calls that the main thread makes to a strategy.
@Suite struct TableThreadTests {
    /// A strategy that has no images and records the calls.
    private final class NoImages: LoadingStrategy {
        private let screen: TableScreen
        private(set) var prefetched: [Range<Int>] = []
        private(set) var log: [String] = []

        init(_ screen: TableScreen) { self.screen = screen }

        var cachedBytes: Int { 0 }
        func caches(_ image: LoadedImage) -> Bool { false }
        func load(_ request: RowRequest) {
            log.append("load \(request.row)")
            screen.fail(request)
        }
        func leave(_ request: RowRequest) { log.append("leave \(request.row)") }
        func prefetch(_ rows: Range<Int>) { prefetched.append(rows) }
        func receive(_ arrival: Arrival) {}
        func end() -> Epilogue { { nil } }
    }

    private func scroll(_ events: [(first: Int, visible: Int)]) -> NoImages {
        let rows = TableRows((0..<100).map { "https://a.example/\($0)" })
        let screen = TableScreen(rows, identities: ImageIdentities(rows))
        let strategy = NoImages(screen)
        var options = RehearsalOptions(.sandbox)
        options.pace = .images
        options.prefetchAhead = 3
        let trace = ScrollTrace(
            events.map { ScrollEvent(time: 0, first: $0.first, visible: $0.visible) })
        _ = TableThread(screen, strategy, trace, options, Inbox(), MemoryPressure()).run()
        return strategy
    }

    private func prefetched(_ events: [(first: Int, visible: Int)]) -> [Range<Int>] {
        scroll(events).prefetched
    }

    /// Otherwise, a download that an appearing row shares would be cancelled first.
    @Test func rowsLeaveAfterOtherRowsAppear() {
        #expect(
            scroll([(0, 2), (1, 2)]).log == ["load 0", "load 1", "load 2", "leave 0"])
    }

    @Test func rowsAheadArePrefetchedInTheScrollDirection() {
        #expect(prefetched([(50, 5), (51, 5), (40, 5)]) == [55..<58, 56..<59, 37..<40])
        #expect(prefetched([(0, 5), (94, 5), (1, 5)]) == [5..<8, 99..<100, 0..<1])
    }

    /// In recorded scrolls, rows are cut off at both ends.
    @Test func aPartialRowAtTheBottomDoesNotChangeTheDirection() {
        #expect(
            prefetched([(50, 5), (49, 6), (49, 5), (48, 6), (48, 5)])
                == [55..<58, 46..<49, 46..<49, 45..<48, 45..<48])
    }
}
