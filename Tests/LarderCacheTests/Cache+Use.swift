import Foundation

@testable import LarderCache

extension Cache {
    /// Records that objects are used now.
    func recordUse(of digests: [Digest]) throws(CacheError) {
        try requireWritable().writeStep { db in
            for digest in digests { try ObjectUse.record(digest, at: Date(), in: db) }
        }
    }
}
