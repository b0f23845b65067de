import Foundation
import GRDB
import Testing

@testable import LarderCache

/// Error codes, and messages that say what to do.
@Suite struct CacheErrorTests {
    /// Running out of address space says nothing about the disk or the index.
    @Test func anOutOfMemoryErrorNamesTheAddressSpaceLimit() {
        let error = CacheError(index: "/a/index.sqlite", DatabaseError(resultCode: .SQLITE_NOMEM))
        #expect(error.code == .unusable)
        #expect(error.message.contains("ulimit -v"))
    }

    @Test func aReadOnlyFileSystemErrorSaysToMountItForWriting() {
        let error = CacheError("open", subject: "index.sqlite", errno: EROFS)
        #expect(error.code == .storage)
        #expect(error.message.contains("Read-only file system; mount it for writing"))
    }
}
