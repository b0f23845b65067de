import Foundation
import GRDB
import Testing

@testable import LarderCache

/// The class of an error is that of its cause, and its message says what to do.
@Suite struct CacheErrorTests {
    /// A lack of address space says nothing about the disk, nor about the index.
    @Test func theLimitOnAddressSpaceIsNamed() {
        let error = CacheError(index: "/a/index.sqlite", DatabaseError(resultCode: .SQLITE_NOMEM))
        #expect(error.code == .unusable)
        #expect(error.message.contains("ulimit -v"))
    }

    @Test func aReadOnlyFileSystemIsToBeMountedOtherwise() {
        let error = CacheError("open", subject: "index.sqlite", errno: EROFS)
        #expect(error.code == .storage)
        #expect(error.message.contains("Read-only file system; mount it for writing"))
    }
}
