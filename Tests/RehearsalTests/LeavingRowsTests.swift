import Foundation
import LarderIcons
import LarderTestSupport
import Testing

@testable import rehearse

/// Rows that leave the screen before their images arrive.
@Suite(.timeLimit(.minutes(30))) struct LeavingRowsTests {
    private let icons: PaddedIcons
    private let gate: Gate
    private let ledger: LinkLedger
    private let screen: TableScreen
    private let inbox = Inbox()

    /// Holds back the images of the first four rows.
    init() throws {
        icons = try PaddedIcons(rows: 100, bytes: 1000)
        gate = try Gate()
        for row in 0..<4 {
            let image = "<svg xmlns='http://www.w3.org/2000/svg' id='i\(row)'/>"
            icons.origin.on("/\(row)", .ok(image, type: "image/svg+xml").heldBy(gate))
        }
        ledger = LinkLedger(icons.rows)
        screen = TableScreen(icons.rows, identities: ImageIdentities(icons.rows))
    }

    private func strategy(_ name: StrategyName) throws -> any LoadingStrategy {
        let link = SimulatedLink(
            try icons.fetcher(), ledger: ledger, identities: ImageIdentities(icons.rows))
        return RehearsalOptions(name).makeStrategy(screen, link, inbox, MemoryPressure())
    }

    private func show(_ rows: Range<Int>, _ strategy: any LoadingStrategy) {
        let (left, appeared) = screen.show(rows)
        left.forEach(strategy.leave)
        appeared.forEach(strategy.load)
    }

    /// Does not wait in the inbox, because the downloads need this thread.
    private func settle(_ strategy: any LoadingStrategy) async {
        while !screen.isSettled {
            await Task.yield()
            inbox.take().forEach(strategy.receive)
        }
    }

    private func finalCounts() async -> LinkCounts {
        while ledger.counts.inProgress > 0 { await Task.yield() }
        return ledger.counts
    }

    /// Larder's own strategy cancels them at once. The other strategies do so at the end.
    @Test(arguments: [StrategyName.asynchronous, .memory, .coalescing, .sandbox])
    func downloadsOfRowsThatLeftAreCancelled(_ name: StrategyName) async throws {
        let strategy = try strategy(name)
        show(0..<4, strategy)
        try await icons.origin.waitForRequests(4)
        show(50..<54, strategy)
        await settle(strategy)
        #expect(screen.counts.networkImages == 4)
        #expect(screen.counts.unseen == 4)
        if name == .sandbox {
            while ledger.counts.cancelled < 4 { await Task.yield() }
        } else {
            #expect(ledger.counts.cancelled == 0)
        }
        inbox.end()
        let epilogue = strategy.end()
        let counts = await finalCounts()
        gate.open()
        #expect(counts.requests == 8)
        #expect(counts.downloads == 4)
        #expect(counts.cancelled == 4)
        #expect(screen.counts.wrong == 0)
        #expect(await epilogue() == nil)
    }

    /// The cells show other rows when the images arrive.
    @Test(arguments: [StrategyName.asynchronous, .memory, .coalescing, .sandbox])
    func lateImagesAreNotShownInOtherRows(_ name: StrategyName) async throws {
        let strategy = try strategy(name)
        show(0..<4, strategy)
        try await icons.origin.waitForRequests(4)
        show(50..<54, strategy)
        // A download that ends before its cancellation would be neither cancelled nor shown.
        if name == .sandbox {
            while ledger.counts.cancelled < 4 { await Task.yield() }
        }
        gate.open()
        var arrivals = 0
        while arrivals + ledger.counts.cancelled < 8 {
            await Task.yield()
            for arrival in inbox.take() {
                strategy.receive(arrival)
                arrivals += 1
            }
        }
        #expect(screen.counts.wrong == 0)
        #expect(screen.counts.networkImages == 4)
        #expect(screen.counts.unseen == 4)
        #expect(screen.isSettled)
        inbox.end()
        #expect(await strategy.end()() == nil)
    }
}
