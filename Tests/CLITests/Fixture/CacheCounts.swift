import Foundation
import LarderTestSupport
import Testing

/// The counts of `status --json`.
struct CacheCounts: Decodable {
    let objects: Int
    let bytes: Int
    let resources: Int
    let fresh: Int
    let stale: Int
    let temporaries: Int

    init(_ finished: Finished) throws {
        #expect(finished.status == 0, "\(finished)")
        self = try JSONDecoder().decode(CacheCounts.self, from: finished.standardOutputBytes)
    }
}
