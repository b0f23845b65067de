import Foundation
import LarderTestSupport
import Synchronization
import Testing

@testable import LarderCache

@Suite struct RunDirectoryTests {
    @Test func deadRunsAreSweptAndLiveRunsAreNot() throws {
        try withTemporaryDirectory { directory in
            let first = try Cache.create(at: directory.path).store()
            let bytes = noise(200_000, seed: 1)
            let object = try first.stage(bytes)
            try Tree.put([1, 2, 3], at: directory.path("tmp/run-dead/1"))
            try Tree.put([4], at: directory.path("tmp/run-dead/plan.sqlite"))
            #expect(Tree.names(directory.path("tmp")).count == 2)

            let cache = try Cache.create(at: directory.path)
            let second = try cache.store()
            #expect(!FileManager.default.fileExists(atPath: directory.path("tmp/run-dead")))
            #expect(Tree.names(directory.path("tmp")).count == 2)
            // The live run can still store its staged object.
            first.add(.staged(object), at: "key")
            first.flush()
            #expect(try cache.bytes(of: try #require(try cache.resource("key")).object) == bytes)
            withExtendedLifetime(second) {}
        }
    }

    @Test func sweepingReturnsTheNumberOfDeadRuns() throws {
        try withTemporaryDirectory { directory in
            let cache = try CacheDirectory(path: directory.path, create: true)
            let live = try RunDirectory(in: cache)
            for name in ["run-a", "run-b"] {
                try Tree.put([1], at: directory.path("tmp/\(name)/1"))
            }
            #expect(try cache.sweepRuns().count == 2)
            #expect(Tree.names(directory.path("tmp")) == [live.name])
            #expect(try cache.sweepRuns().count == 0)
        }
    }

    @Test func aRunThatStartsDuringSweepsKeepsItsDirectory() throws {
        try withTemporaryDirectory { directory in
            let runs = Mutex<[RunDirectory]>([])
            let failures = Mutex<[any Error]>([])
            DispatchQueue.concurrentPerform(iterations: 8) { _ in
                do {
                    let cache = try CacheDirectory(path: directory.path, create: true)
                    for _ in 0..<40 {
                        let run = try RunDirectory(in: cache)
                        runs.withLock { $0.append(run) }
                        try cache.sweepRuns()
                    }
                } catch {
                    failures.withLock { $0.append(error) }
                }
            }
            #expect(failures.withLock { $0 }.isEmpty)
            let names = runs.withLock { $0.map(\.name) }
            #expect(names.count == 320)
            #expect(Tree.names(directory.path("tmp")) == names.sorted())
        }
    }

    @Test func sweepingKeepsForeignFilesAndLinks() throws {
        try withTemporaryDirectory { directory in
            _ = try Cache.create(at: directory.path)
            try Tree.put([1], at: directory.path("tmp/notes.txt"))
            try Tree.put([1], at: directory.path("elsewhere/kept"))
            try FileManager.default.createSymbolicLink(
                atPath: directory.path("tmp/run-link"),
                withDestinationPath: directory.path("elsewhere"))
            _ = try Cache.create(at: directory.path).store()
            #expect(Tree.names(directory.path("tmp")) == ["notes.txt", "run-link"])
            #expect(Tree.names(directory.path("elsewhere")) == ["kept"])
        }
    }

    @Test func namesOfStagedFilesAreUnique() throws {
        try withTemporaryDirectory { directory in
            let run = try RunDirectory(in: try CacheDirectory(path: directory.path, create: true))
            let names = Mutex<Set<String>>([])
            DispatchQueue.concurrentPerform(iterations: 500) { _ in
                let name = run.uniqueName()
                _ = names.withLock { $0.insert(name) }
            }
            #expect(names.withLock { $0.count } == 500)
        }
    }
}
