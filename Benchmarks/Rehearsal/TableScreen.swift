import Foundation

/// The visible part of a table view, with reused cells. Used only on the main thread.
///
/// Each image in a cell is compared with the expected image of the cell's row.
final class TableScreen {
    private struct Cell {
        var request: RowRequest?
        var appeared = ContinuousClock.now
        var image: LoadedImage?
        var isWaiting = false
        var wasWrong = false
    }

    let rows: TableRows
    private let identities: ImageIdentities
    private var cells: [Cell] = []
    private var freeCells: [Int] = []
    private var cellOfRow: [Int: Int] = [:]
    private var waiting = 0
    private var appearances = 0

    private(set) var visible = 0..<0
    private(set) var counts = RowCounts()
    private(set) var waits = WaitTimes()

    init(_ rows: TableRows, identities: ImageIdentities) {
        self.rows = rows
        self.identities = identities
    }

    /// Whether every visible row has its image or has failed.
    var isSettled: Bool { waiting == 0 }

    /// The distinct images in cells, which can share bytes.
    var images: [LoadedImage] {
        var seen: Set<UnsafeRawPointer?> = []
        return cells.compactMap(\.image)
            .filter { seen.insert($0.data.withUnsafeBytes(\.baseAddress)).inserted }
    }

    /// Scrolls to a range of rows. Returns requests for the rows with an icon that left or
    /// appeared.
    func show(_ range: Range<Int>) -> (left: [RowRequest], appeared: [RowRequest]) {
        let now = ContinuousClock.now
        let left = visible.filter { !range.contains($0) }.compactMap(leave)
        let before = visible
        visible = range
        let appeared = range.filter { !before.contains($0) }.compactMap { appear($0, now) }
        return (left, appeared)
    }

    func isShowing(_ request: RowRequest) -> Bool {
        cells[request.cell].request?.appearance == request.appearance
    }

    /// Shows the result of a load, unless the cell has been reused.
    func finish(_ request: RowRequest, _ image: LoadedImage?, from origin: LoadedImage.Origin) {
        guard isShowing(request) else { return }
        if let image { put(image, from: origin, in: request.cell) } else { fail(request) }
    }

    /// Sets the image of a cell, for any row.
    func put(_ image: LoadedImage, from origin: LoadedImage.Origin, in cell: Int) {
        guard let request = cells[cell].request else { return }
        cells[cell].image = image
        let isRight =
            image.url == request.url
            && identities.accept(image.data, of: request.url.absoluteString)
        guard isRight else {
            if !cells[cell].wasWrong { counts.wrong += 1 }
            cells[cell].wasWrong = true
            return
        }
        guard cells[cell].isWaiting else { return }
        endWait(cell)
        waits.add(.now - cells[cell].appeared)
        switch origin {
        case .memory: counts.memoryHits += 1
        case .disk: counts.diskHits += 1
        case .network: counts.networkImages += 1
        }
    }

    func fail(_ request: RowRequest) {
        guard isShowing(request), cells[request.cell].isWaiting else { return }
        endWait(request.cell)
        counts.failed += 1
    }

    func close() {
        for row in visible { _ = leave(row) }
        visible = 0..<0
    }

    private func endWait(_ cell: Int) {
        cells[cell].isWaiting = false
        waiting -= 1
    }

    private func leave(_ row: Int) -> RowRequest? {
        guard let cell = cellOfRow.removeValue(forKey: row) else { return nil }
        if cells[cell].isWaiting {
            endWait(cell)
            counts.unseen += 1
        }
        let request = cells[cell].request
        // Clears the cell, like `prepareForReuse()`.
        cells[cell] = Cell()
        freeCells.append(cell)
        return request
    }

    private func appear(_ row: Int, _ now: ContinuousClock.Instant) -> RowRequest? {
        guard let url = rows[row].flatMap({ URL(string: $0) }) else { return nil }
        let cell = freeCells.popLast() ?? cells.count
        if cell == cells.count { cells.append(Cell()) }
        appearances += 1
        let request = RowRequest(appearance: appearances, cell: cell, row: row, url: url)
        cells[cell] = Cell(request: request, appeared: now, isWaiting: true)
        cellOfRow[row] = cell
        waiting += 1
        counts.shown += 1
        return request
    }
}

/// A request for the image of a row that became visible.
struct RowRequest: Sendable {
    /// Unique for each appearance of a row.
    let appearance: Int
    /// The cell, which may show another row later.
    let cell: Int
    let row: Int
    let url: URL
}

struct LoadedImage: Sendable {
    /// The requested URL.
    let url: URL
    let data: Data

    enum Origin: Sendable { case memory, disk, network }
}

struct Arrival: Sendable {
    let request: RowRequest
    /// Nil if the load failed.
    let image: LoadedImage?
    let origin: LoadedImage.Origin

    init(_ request: RowRequest, _ image: LoadedImage?, from origin: LoadedImage.Origin) {
        (self.request, self.image, self.origin) = (request, image, origin)
    }
}

/// The queue of results for the main thread.
final class Inbox: @unchecked Sendable {
    // Unchecked because the state is mutable. Every access holds `condition`.
    private let condition = NSCondition()
    private var arrivals: [Arrival] = []
    private var isEnded = false

    func post(_ arrival: Arrival) {
        condition.withLock {
            arrivals.append(arrival)
            condition.signal()
        }
    }

    func end() {
        condition.withLock {
            isEnded = true
            condition.broadcast()
        }
    }

    var hasEnded: Bool { condition.withLock { isEnded } }

    func take() -> [Arrival] {
        condition.withLock {
            defer { arrivals = [] }
            return arrivals
        }
    }

    /// Waits until a time, the end of the rehearsal or, with `orArrival`, a result.
    func wait(until date: Date, orArrival: Bool) {
        condition.withLock {
            while !isEnded, !orArrival || arrivals.isEmpty {
                guard condition.wait(until: date) else { return }
            }
        }
    }
}
