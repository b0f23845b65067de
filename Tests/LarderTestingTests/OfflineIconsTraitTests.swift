import Foundation
import LarderTesting
import Synchronization
import Testing

#if canImport(FoundationNetworking)
    import FoundationNetworking
#endif

@Suite struct OfflineIconsTraitTests {
    private static let notes = "https://icons.example/notes.png"

    private struct OwnError: Error {}

    @Test func theTraitGivesATestItsIcons() async throws {
        try await withCache([Self.notes: icon(1)]) { cache in
            try await scope(cache) {
                let icons = try #require(OfflineIcons.current)
                #expect(try await icons.data(Self.notes) == icon(1))
            }
            #expect(OfflineIcons.current == nil)
        }
    }

    @Test func aTestWithAMissingIconFailsWithItsURL() async throws {
        try await withCache([Self.notes: icon(1)]) { cache in
            try await withKnownIssue {
                try await scope(cache) {
                    _ = try? await OfflineIcons.current?.data("https://icons.example/absent.png")
                }
            } matching: { issue in
                let error = issue.error as? OfflineIconsError
                return error?.missing.map(\.url) == ["https://icons.example/absent.png"]
            }
        }
    }

    /// The missing icon may be the cause of the error.
    @Test func anErrorDoesNotHideAMissingIcon() async throws {
        try await withCache([:]) { cache in
            let errors = Mutex<[any Error]>([])
            try await withKnownIssue {
                try await scope(cache) {
                    _ = try? await OfflineIcons.current?.data(Self.notes)
                    throw OwnError()
                }
            } matching: { issue in
                if let error = issue.error { errors.withLock { $0.append(error) } }
                return true
            }
            #expect(errors.withLock { $0.contains { $0 is OfflineIconsError } })
            #expect(errors.withLock { $0.contains { $0 is OwnError } })
        }
    }

    @Test func aTestWithoutACacheFails() async throws {
        let trait: OfflineIconsTrait = .offlineIcons(cache: URL(fileURLWithPath: "/nonexistent"))
        let test = try #require(Test.current)
        await #expect(throws: (any Error).self) {
            try await trait.provideScope(for: test, testCase: Test.Case.current) {
                Issue.record("must not run")
            }
        }
    }

    /// Runs `body` as the trait runs a test.
    private func scope(
        _ cache: OfflineCache, _ body: @Sendable () async throws -> Void
    ) async throws {
        let trait: OfflineIconsTrait = .offlineIcons(cache: cache.url)
        let test = try #require(Test.current)
        try await trait.provideScope(for: test, testCase: Test.Case.current, performing: body)
    }
}
