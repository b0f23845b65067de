import Foundation

@testable import LarderCache
@testable import LarderCore

extension Cache {
    /// Records a use of the objects at the current time.
    func recordUse(of digests: [Digest]) throws(CacheError) {
        try requireWritable().writeStep { db in
            try ObjectUse.record(digests, at: Date(), in: db)
        }
    }
}
