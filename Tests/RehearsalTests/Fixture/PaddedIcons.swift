import Foundation
import LarderHTTP
import LarderPrefetch
import LarderTestSupport

@testable import rehearse

/// An origin with small images that are padded to a size.
struct PaddedIcons {
    let origin: Origin
    let rows: TableRows
    let bytes: Int

    /// - Parameter urls: The number of URLs, which the rows repeat in order.
    init(rows count: Int, urls: Int? = nil, bytes: Int) throws {
        let origin = try Origin()
        self.origin = origin
        self.bytes = bytes
        let urls = urls ?? count
        for number in 0..<urls {
            let image = #"<svg xmlns="http://www.w3.org/2000/svg" id="i\#(number)"/>"#
            let padding = String(repeating: " ", count: bytes - image.utf8.count)
            origin.on("/\(number)", .ok(image + padding, type: "image/svg+xml"))
        }
        rows = TableRows((0..<count).map { origin.url("/\($0 % urls)") })
    }

    func fetcher() throws -> TransferFetcher {
        var transfer = TransferConfiguration()
        transfer.addressPolicy = .allowAll
        // Responses that a test holds must not time out, even on a busy machine.
        transfer.stallTimeout = .seconds(3600)
        transfer.totalTimeout = .seconds(3600)
        return try TransferFetcher(transfer)
    }

    /// Scrolls to the end and back, never faster than images arrive.
    func rehearse(
        _ strategy: StrategyName, visible: Int = 6, directory: URL? = nil,
        _ change: (inout RehearsalOptions) -> Void = { _ in }
    ) async throws -> StrategyReport {
        var options = RehearsalOptions(strategy)
        options.pace = .images
        options.prefetchAhead = 6
        options.directory = directory
        change(&options)
        return await Rehearsal(
            rows, ScrollPattern.thereAndBack.trace(rows: rows.count, visible: visible), options,
            fetcher: try fetcher()
        ).run()
    }
}
