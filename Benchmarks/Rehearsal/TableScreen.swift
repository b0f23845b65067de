import Foundation

/// The visible part of a table view: as many cells as rows fit on it, used again for other rows. It
/// belongs to the main thread.
///
/// It trusts nobody: an image that is put into a cell is compared with what the cell's row wants.
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

    /// The rows that are visible.
    private(set) var visible = 0..<0
    private(set) var counts = RowCounts()
    private(set) var waits = WaitTimes()

    init(_ rows: TableRows, identities: ImageIdentities) {
        self.rows = rows
        self.identities = identities
    }

    /// Whether every visible row has come to its image, or to none.
    var isSettled: Bool { waiting == 0 }

    /// The images in cells, each once: cells share the bytes of one that they waited for together.
    var images: [LoadedImage] {
        var seen: Set<UnsafeRawPointer?> = []
        return cells.compactMap(\.image)
            .filter { seen.insert($0.data.withUnsafeBytes(\.baseAddress)).inserted }
    }

    /// Scrolls.
    ///
    /// - Returns: the rows with an icon that are not visible any more, and those that now are.
    func show(
        _ range: Range<Int>
    ) -> (left: [RowRequest], appeared: [RowRequest]) {
        let now = ContinuousClock.now
        let left = visible.filter { !range.contains($0) }.compactMap(leave)
        let before = visible
        visible = range
        let appeared = range.filter { !before.contains($0) }.compactMap { appear($0, now) }
        return (left, appeared)
    }

    /// Whether the row that has asked is still visible in its cell.
    func isShowing(_ request: RowRequest) -> Bool {
        cells[request.cell].request?.appearance == request.appearance
    }

    /// Puts an image into a cell, whichever row that shows by now.
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

    /// Shows that there is no image for the row.
    func fail(_ request: RowRequest) {
        guard isShowing(request), cells[request.cell].isWaiting else { return }
        endWait(request.cell)
        counts.failed += 1
    }

    /// Nobody looks any more.
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
        // As prepareForReuse() does it.
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

/// A row that became visible, and wants its image.
struct RowRequest: Sendable {
    /// Tells it from each other time that a row became visible.
    let appearance: Int
    /// The cell that shows it; later it may show another row.
    let cell: Int
    let row: Int
    let url: URL
}

/// An image, and whose it is.
struct LoadedImage: Sendable {
    /// The URL that it was asked for by.
    let url: URL
    let data: Data

    /// Where it was when a row wanted it.
    enum Origin: Sendable { case memory, disk, network }
}

/// What came of a request, on its way to the main thread.
struct Arrival: Sendable {
    let request: RowRequest
    /// Nil if there is no image to be had.
    let image: LoadedImage?
    let origin: LoadedImage.Origin

    init(_ request: RowRequest, _ image: LoadedImage?, from origin: LoadedImage.Origin) {
        self.request = request
        self.image = image
        self.origin = origin
    }
}

/// What other threads have for the main thread.
final class Inbox: @unchecked Sendable {
    // Unchecked because the state is variables; every access holds `condition`.
    private let condition = NSCondition()
    private var arrivals: [Arrival] = []
    private var isEnded = false

    init() {}

    func post(_ arrival: Arrival) {
        condition.withLock {
            arrivals.append(arrival)
            condition.signal()
        }
    }

    /// The rehearsal is to end.
    func end() {
        condition.withLock {
            isEnded = true
            condition.broadcast()
        }
    }

    var hasEnded: Bool { condition.withLock { isEnded } }

    /// Takes what is there.
    func take() -> [Arrival] {
        condition.withLock {
            defer { arrivals = [] }
            return arrivals
        }
    }

    /// Returns when that time has come, or all is to end; if asked for, also when there is
    /// something to take.
    func wait(until date: Date, orArrival: Bool) {
        condition.withLock {
            while !isEnded, !orArrival || arrivals.isEmpty {
                guard condition.wait(until: date) else { return }
            }
        }
    }
}
