import Foundation
import LarderTestSupport
import Testing

@testable import LarderCache
@testable import LarderCore

@Suite(.timeLimit(.minutes(30))) struct StagedBodyTests {
    @Test(arguments: [
        0, 1, 55, 64, 1_000, StagedBody.memoryLimit, StagedBody.memoryLimit + 1, 200_000,
    ])
    func aStagedBodyReturnsItsDigestAndBytes(_ count: Int) throws {
        try withTemporaryDirectory { directory in
            let store = try Cache.create(at: directory.path).store()
            let body = store.newBody {}
            let bytes = noise(count, seed: count)
            for start in stride(from: 0, to: count, by: 999) {
                let piece = bytes[start..<min(start + 999, count)]
                #expect(try piece.withUnsafeBytes { try body.append($0) })
            }
            #expect(body.count == Int64(count))
            #expect(try body.finish() == Digest.reference(of: bytes))
            #expect(try body.withBytes { Array($0) } == bytes)
            // Small bodies are written to disk only when they are staged.
            let files = Tree.files(directory.path("tmp"))
            #expect(files.count == (count > StagedBody.memoryLimit ? 1 : 0))
        }
    }

    @Test func aSmallBodyIsWrittenToDiskWhenItIsStaged() throws {
        try withTemporaryDirectory { directory in
            let store = try Cache.create(at: directory.path).store()
            _ = try store.stage(noise(100, seed: 1))
            let file = try #require(Tree.files(directory.path("tmp")).first)
            #expect(try Tree.bytes(directory.path("tmp/\(file)")) == noise(100, seed: 1))
        }
    }

    @Test(.timeLimit(.minutes(30))) func aFullBodyAcceptsBytesOnceTheDiskHasCaughtUp() async throws
    {
        try await withTemporaryDirectory { directory in
            let store = try Cache.create(at: directory.path).store()
            let (drained, continuation) = AsyncStream<Void>.makeStream()
            let body = store.newBody { continuation.yield() }
            for writer in StagedBody.writers { writer.suspend() }
            let head = noise(StagedBody.backlogLimit + StagedBody.memoryLimit, seed: 1)
            let tail = noise(1_000, seed: 2)
            let answers = Result {
                try [head, tail].map { try $0.withUnsafeBytes { try body.append($0) } }
            }
            for writer in StagedBody.writers { writer.resume() }
            #expect(try answers.get() == [true, false])
            #expect(body.count == Int64(head.count))

            var signals = drained.makeAsyncIterator()
            await signals.next()
            #expect(try tail.withUnsafeBytes { try body.append($0) })
            #expect(body.count == Int64(head.count + tail.count))
            _ = try body.finish()
            #expect(try body.withBytes { $0.elementsEqual(head + tail) })
        }
    }

    @Test(.timeLimit(.minutes(30))) func aLargeBodyKeepsOnlyItsBacklogInMemory() throws {
        try withTemporaryDirectory { directory in
            let store = try Cache.create(at: directory.path).store()
            let drained = DispatchSemaphore(value: 0)
            let body = store.newBody { drained.signal() }
            let piece = noise(16 << 10, seed: 1)
            var file: String?
            var largestBacklog = 0
            for _ in 0..<(24 << 20) / piece.count {
                while try !piece.withUnsafeBytes({ try body.append($0) }) { drained.wait() }
                if file == nil {
                    file = Tree.files(directory.path("tmp")).first.map {
                        directory.path("tmp/\($0)")
                    }
                }
                var status = stat()
                if let file { #expect(stat(file, &status) == 0) }
                largestBacklog = max(largestBacklog, Int(body.count) - Int(status.st_size))
            }
            #expect(body.count == 24 << 20)
            #expect(
                largestBacklog <= StagedBody.backlogLimit + 2
                    * (StagedBody.memoryLimit + piece.count))
            _ = try body.finish()
        }
    }

    @Test func aReleasedBodyLeavesNoFile() throws {
        try withTemporaryDirectory { directory in
            let store = try Cache.create(at: directory.path).store()
            do {
                let body = store.newBody {}
                let bytes = noise(200_000, seed: 1)
                _ = try bytes.withUnsafeBytes { try body.append($0) }
                _ = try body.finish()
                #expect(Tree.files(directory.path("tmp")).count == 1)
            }
            #expect(Tree.files(directory.path("tmp")).isEmpty)
            withExtendedLifetime(store) {}
        }
    }

    @Test(arguments: [100, 200_000])
    func aFailedWriteIsThrownWhenTheBodyIsStaged(_ count: Int) throws {
        try withTemporaryDirectory { directory in
            let store = try Cache.create(at: directory.path).store()
            // Another process has emptied `tmp/`, so no file can be created in the run's directory.
            try FileManager.default.removeItem(atPath: directory.path("tmp"))
            let error = #expect(throws: CacheError.self) {
                _ = try store.stage(noise(count, seed: 1))
            }
            #expect(error?.errno == ENOENT)
        }
    }

    @Test func aFailedBodyAcceptsNoMoreBytes() throws {
        try withTemporaryDirectory { directory in
            let store = try Cache.create(at: directory.path).store()
            try FileManager.default.removeItem(atPath: directory.path("tmp"))
            let body = store.newBody {}
            let bytes = noise(200_000, seed: 1)
            _ = try bytes.withUnsafeBytes { try body.append($0) }
            #expect(throws: CacheError.self) { _ = try body.finish() }
            #expect(throws: CacheError.self) {
                _ = try bytes.withUnsafeBytes { try body.append($0) }
            }
        }
    }
}
