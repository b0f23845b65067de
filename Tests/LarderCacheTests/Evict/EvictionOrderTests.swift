import Foundation
import LarderTestSupport
import Testing

@testable import LarderCache

/// The eviction orders in the documentation.
@Suite struct EvictionOrderTests {
    @Test(arguments: EvictionOrder.allCases) func theDocumentationNamesEveryEvictionOrder(
        _ order: EvictionOrder
    ) throws {
        let page = URL(fileURLWithPath: #filePath)
            .appendingPathComponent("../../../../docs/cache.md").standardizedFileURL
        #expect(try String(contentsOf: page, encoding: .utf8).contains("`--by \(order.rawValue)`"))
    }
}
