import Foundation
import LarderTestSupport
import Testing

@testable import LarderCache

/// Objects opened as file descriptors.
@Suite struct CacheLendingTests {
    private func read(_ descriptor: Int32) throws -> [UInt8] {
        let file = FileHandle(fileDescriptor: descriptor, closeOnDealloc: true)
        return Array(try file.readToEnd() ?? Data())
    }

    @Test func aDescriptorStartsAtOffsetZeroAndOutlivesItsFile() throws {
        try withTemporaryDirectory { directory in
            // Larger than one read.
            let bytes = noise(1_000_000, seed: 1)
            let cache = try Cache.filled(at: directory.path("cache"), with: ["key": bytes])
            let object = try #require(try cache.resource("key")).object
            let descriptor = try cache.descriptor(of: object)
            unlink(cache.absolutePath(of: object.digest))
            #expect(try read(descriptor) == bytes)
            #expect(throws: CacheError.self) { try cache.descriptor(of: object) }
        }
    }

    @Test(arguments: [noise(1000, seed: 2), noise(999, seed: 1), noise(1000, seed: 1) + [0], []])
    func aChangedObjectIsNotOpened(_ changed: [UInt8]) throws {
        try withTemporaryDirectory { directory in
            let cache = try Cache.filled(
                at: directory.path("cache"), with: ["key": noise(1000, seed: 1)])
            let object = try #require(try cache.resource("key")).object
            try Tree.put(changed, at: cache.absolutePath(of: object.digest))
            let error = #expect(throws: CacheError.self) {
                _ = try cache.descriptor(of: object)
            }
            #expect(error?.code == .corrupt)
        }
    }
}
