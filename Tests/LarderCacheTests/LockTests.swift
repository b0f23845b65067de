import Foundation
import LarderTestSupport
import Synchronization
import Testing

@testable import LarderCache

/// Named locks, the lock of the cache itself, and waiting for both.
@Suite(.timeLimit(.minutes(30))) struct LockTests {
    private func lock(
        _ name: String, _ directory: TemporaryDirectory, create: Bool = true,
        wait: LockWait = .none
    ) throws -> NamedLock {
        try NamedLock(name, ofCacheAt: directory.path, create: create, for: "the test", wait: wait)
    }

    @Test func aNamedLockExcludesOnlyLocksOfTheSameName() throws {
        try withTemporaryDirectory { directory in
            var held: NamedLock? = try lock("nightly", directory)
            let error = #expect(throws: CacheError.self) { _ = try lock("nightly", directory) }
            #expect(error?.code == .locked)
            #expect(error?.subject == directory.path("locks/nightly"))
            #expect(error?.message == "held by the test (process \(getpid()))")
            _ = try lock("weekly", directory)
            // A named lock does not lock the cache.
            _ = try Cache.create(at: directory.path)
            _ = try Cache.reindex(at: directory.path)
            withExtendedLifetime(held) {}
            held = nil
            _ = try lock("nightly", directory)
            #expect(Tree.names(directory.path("locks")) == ["nightly", "weekly"])
        }
    }

    /// The note of a killed holder must not be attributed to its successor.
    @Test func anEndedLockHolderIsNotNamed() throws {
        try withTemporaryDirectory { directory in
            _ = try lock("nightly", directory)
            let file = open(directory.path("locks/nightly"), O_RDWR | O_CLOEXEC)
            defer { close(file) }
            #expect(flock(file, LOCK_EX | LOCK_NB) == 0)
            for note in ["999999999 ghost\n", "", "\n\n", "-1 ghost\n", "x"] {
                ftruncate(file, 0)
                #expect(pwrite(file, note, note.utf8.count, 0) == note.utf8.count)
                let error = #expect(throws: CacheError.self) { _ = try lock("nightly", directory) }
                #expect(error?.message == "held by another process", "\(note)")
            }
        }
    }

    @Test func aLockOfAnAbsentCacheThrowsMissing() throws {
        try withTemporaryDirectory { directory in
            let error = #expect(throws: CacheError.self) {
                _ = try NamedLock(
                    "a", ofCacheAt: directory.path("absent"), create: false, for: "the test")
            }
            #expect(error?.code == .missing)
            #expect(Tree.names(directory.path).isEmpty)
        }
    }

    @Test func linksPipesDirectoriesAndInvalidNamesAreRefusedAsLocks() throws {
        try withTemporaryDirectory { directory in
            _ = try lock("a", directory)
            try Tree.put([1], at: directory.path("outside"))
            try FileManager.default.createSymbolicLink(
                atPath: directory.path("locks/link"), withDestinationPath: directory.path("outside")
            )
            mkfifo(directory.path("locks/pipe"), 0o600)
            try FileManager.default.createDirectory(
                atPath: directory.path("locks/directory"), withIntermediateDirectories: false)
            for name in ["link", "pipe", "directory", "..", ".", "", "a/b", "ä", "a b"] {
                let error = #expect(throws: CacheError.self, "\(name)") {
                    _ = try lock(name, directory)
                }
                #expect(error?.code == .unusable, "\(name)")
            }
            #expect(try Tree.bytes(directory.path("outside")) == [1])
        }
    }

    @Test func lockNamesAreLettersDigitsDotHyphenAndUnderscore() {
        for name in ["a", "Nightly-2.x_Y", "...", String(repeating: "a", count: 100)] {
            #expect(NamedLock.isName(name), "\(name)")
        }
        for name in ["", ".", "..", "a/b", "é", "a\n", " ", String(repeating: "a", count: 101)] {
            #expect(!NamedLock.isName(name), "\(name)")
        }
    }

    // MARK: Waiting

    @Test func aLockWaitEndsWhenTheHolderReleasesTheLock() throws {
        try withTemporaryDirectory { directory in
            let held = Mutex<NamedLock?>(try lock("a", directory))
            let messages = Mutex<[String]>([])
            let wait = LockWait(limit: nil) { message in
                messages.withLock { $0.append(message) }
                held.withLock { $0 = nil }
            }
            _ = try lock("a", directory, wait: wait)
            // The holder releases the lock at the first message, so only one is sent.
            let message = "held by the test (process \(getpid()))"
            let subject = directory.path("locks/a")
            #expect(messages.withLock { $0 } == ["waiting for \(subject): \(message)"])
        }
    }

    @Test func aLockWaitEndsAtItsTimeLimit() throws {
        try withTemporaryDirectory { directory in
            let held = try lock("a", directory)
            let start = ContinuousClock.now
            let error = #expect(throws: CacheError.self) {
                _ = try lock("a", directory, wait: LockWait(limit: .milliseconds(300)))
            }
            #expect(error?.code == .locked)
            #expect(ContinuousClock.now - start >= .milliseconds(300))
            withExtendedLifetime(held) {}
        }
    }

    @Test func aLockWaitEndsWhenItIsCancelled() throws {
        try withTemporaryDirectory { directory in
            let held = try lock("a", directory)
            let checks = Atomic(0)
            var wait = LockWait.unlimited
            wait.isCancelled = {
                checks.wrappingAdd(1, ordering: .relaxed).newValue > 3
            }
            let error = #expect(throws: CacheError.self) {
                _ = try lock("a", directory, wait: wait)
            }
            #expect(error?.code == .locked)
            #expect(checks.load(ordering: .relaxed) == 4)
            withExtendedLifetime(held) {}
        }
    }

    /// A rebuild of the index excludes every other use of the cache, and vice versa.
    @Test func openingAndReindexingWaitForTheLockOfTheCache() throws {
        try withTemporaryDirectory { directory in
            let cache = Mutex<Cache?>(try Cache.create(at: directory.path))
            let isUsed = #expect(throws: CacheError.self) {
                _ = try Cache.reindex(at: directory.path)
            }
            #expect(isUsed?.code == .locked)
            _ = try Cache.reindex(
                at: directory.path, wait: LockWait(limit: nil) { _ in cache.withLock { $0 = nil } })

            let rebuild = Mutex<Int32>(open(directory.path, O_RDONLY | O_CLOEXEC))
            #expect(flock(rebuild.withLock { $0 }, LOCK_EX | LOCK_NB) == 0)
            for opening in Cache.openings {
                let error = #expect(throws: CacheError.self) { _ = try opening(directory.path) }
                #expect(error?.code == .locked)
            }
            let wait = LockWait(limit: nil) { _ in _ = rebuild.withLock { close($0) } }
            _ = try Cache.open(at: directory.path, wait: wait)
        }
    }
}
