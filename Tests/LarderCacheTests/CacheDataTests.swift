import Foundation
import LarderTestSupport
import Testing

@testable import LarderCache

/// Reads of objects that skip the digest if the file is already known.
@Suite struct CacheDataTests {
    @Test func aKnownFileIsNotDigestedAgain() throws {
        try withTemporaryDirectory { directory in
            let bytes = noise(1000, seed: 1)
            let cache = try Cache.filled(at: directory.path("cache"), with: ["key": bytes])
            let object = try #require(try cache.resource("key")).object
            let first = try cache.data(of: object, unlessKnown: nil)
            #expect(Array(first.data) == bytes)
            #expect(try cache.data(of: object, unlessKnown: first.file).file == first.file)

            // Different bytes of the same length show whether the file is digested.
            let changed = noise(1000, seed: 2)
            let path = cache.absolutePath(of: object.digest)
            try Tree.put(changed, at: path)
            var status = stat()
            #expect(stat(path, &status) == 0)
            let known = try cache.data(of: object, unlessKnown: FileIdentity(status))
            #expect(Array(known.data) == changed)
            for identity in [nil, first.file] {
                let error = #expect(throws: CacheError.self) {
                    _ = try cache.data(of: object, unlessKnown: identity)
                }
                #expect(error?.code == .corrupt)
            }
        }
    }
}
