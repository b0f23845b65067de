import Foundation
import LarderTestSupport
import Testing

@testable import LarderCache

/// Bytes are compared with their digest unless their file is known from before.
@Suite struct CacheDataTests {
    @Test func aFileThatIsKnownIsNotDigestedAgain() throws {
        try withTemporaryDirectory { directory in
            let bytes = noise(1000, seed: 1)
            let cache = try Cache.filled(at: directory.path("cache"), with: ["key": bytes])
            let object = try #require(try cache.resource("key")).object
            let first = try cache.data(of: object, unlessKnown: nil)
            #expect(Array(first.data) == bytes)
            #expect(try cache.data(of: object, unlessKnown: first.file).file == first.file)

            // Other bytes of the same length show whether somebody looks at them.
            let other = noise(1000, seed: 2)
            let path = cache.absolutePath(of: object.digest)
            try Tree.put(other, at: path)
            var status = stat()
            #expect(stat(path, &status) == 0)
            let known = try cache.data(of: object, unlessKnown: FileIdentity(status))
            #expect(Array(known.data) == other)
            for identity in [nil, first.file] {
                let error = #expect(throws: CacheError.self) {
                    _ = try cache.data(of: object, unlessKnown: identity)
                }
                #expect(error?.code == .corrupt)
            }
        }
    }
}
