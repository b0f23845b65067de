import Foundation
import Testing

@testable import rehearse

@Suite struct TableScreenTests {
    private let identities: ImageIdentities
    private let screen: TableScreen

    init() {
        let rows = TableRows((0..<50).map { $0 == 7 ? nil : "https://a.example/\($0)" })
        identities = ImageIdentities(rows)
        screen = TableScreen(rows, identities: identities)
    }

    private func image(_ row: Int, bytes: Int? = nil) -> LoadedImage {
        let url = "https://a.example/\(row)"
        return LoadedImage(
            url: URL(string: url) ?? URL(fileURLWithPath: "/"),
            data: StubFetcher.data("https://a.example/\(bytes ?? row)", 1000))
    }

    @Test func rowsAppearAndLeave() {
        var change = screen.show(0..<5)
        #expect(change.left.isEmpty)
        #expect(change.appeared.map(\.row) == [0, 1, 2, 3, 4])
        change = screen.show(3..<8)
        #expect(change.left.map(\.row) == [0, 1, 2])
        // Row 7 has no icon.
        #expect(change.appeared.map(\.row) == [5, 6])
        change = screen.show(40..<45)
        #expect(change.left.map(\.row) == [3, 4, 5, 6])
        #expect(screen.counts.shown == 12)
        #expect(screen.counts.unseen == 7)
        #expect(!screen.isSettled)
    }

    @Test func cellsAreReused() {
        let first = screen.show(0..<3).appeared
        let second = screen.show(10..<13).appeared
        #expect(Set(first.map(\.cell)) == Set(second.map(\.cell)))
        #expect(first.allSatisfy { !screen.isShowing($0) })
        #expect(second.allSatisfy { screen.isShowing($0) })
        // A row that appears again is a new request.
        let third = screen.show(0..<3).appeared
        #expect(first.allSatisfy { !screen.isShowing($0) })
        #expect(third.allSatisfy { screen.isShowing($0) })
    }

    @Test func imagesAndFailuresEndTheWait() {
        let requests = screen.show(0..<4).appeared
        for (request, origin) in zip(requests, [LoadedImage.Origin.memory, .disk, .network]) {
            screen.put(image(request.row), from: origin, in: request.cell)
        }
        #expect(!screen.isSettled)
        screen.fail(requests[3])
        #expect(screen.isSettled)
        // Repeated calls are not counted.
        screen.put(image(0), from: .network, in: requests[0].cell)
        screen.fail(requests[3])
        screen.close()
        let counts = screen.counts
        #expect(counts.memoryHits == 1)
        #expect(counts.diskHits == 1)
        #expect(counts.networkImages == 1)
        #expect(counts.failed == 1)
        #expect(counts.unseen == 0)
        #expect(counts.wrong == 0)
        #expect(screen.waits.count == 3)
    }

    /// As in the first version in the literature, the image goes to the row's former cell.
    @Test func anImageForTheCellsFormerRowIsWrong() {
        let late = screen.show(0..<3).appeared[0]
        let now = screen.show(10..<13).appeared.first { $0.cell == late.cell }
        screen.put(image(late.row), from: .network, in: late.cell)
        #expect(screen.counts.wrong == 1)
        screen.put(image(late.row), from: .network, in: late.cell)
        #expect(screen.counts.wrong == 1)
        #expect(!screen.isSettled)
        // The right image comes later. The wrong one still counts.
        screen.put(image(now?.row ?? 0), from: .network, in: late.cell)
        #expect(screen.counts.networkImages == 1)
        #expect(screen.counts.wrong == 1)
    }

    @Test func otherBytesForTheRightURLAreWrong() {
        let request = screen.show(0..<1).appeared[0]
        identities.note(image(0).data, of: request.url.absoluteString)
        screen.put(image(0, bytes: 1), from: .disk, in: request.cell)
        #expect(screen.counts.wrong == 1)
        #expect(screen.counts.diskHits == 0)
    }

    /// If each cell counted the image, purging the cache would seem to increase the memory.
    @Test func aSharedImageIsCountedOnce() {
        let rows = TableRows(Array(repeating: "https://a.example/1", count: 4))
        let screen = TableScreen(rows, identities: ImageIdentities(rows))
        let shared = image(1)
        for request in screen.show(0..<4).appeared {
            // The last row uses a separate download.
            screen.put(request.row < 3 ? shared : image(1), from: .network, in: request.cell)
        }
        #expect(screen.counts.networkImages == 4)
        #expect(screen.images.map(\.data.count) == [1000, 1000])
    }

    @Test func anEmptyCellAcceptsNoImage() {
        let request = screen.show(0..<1).appeared[0]
        _ = screen.show(0..<0)
        screen.put(image(0), from: .network, in: request.cell)
        screen.fail(request)
        #expect(screen.images.isEmpty)
        #expect(screen.counts.unseen == 1)
        #expect(screen.counts.networkImages == 0)
    }
}
