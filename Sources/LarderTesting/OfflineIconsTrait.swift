#if canImport(Testing)
    import Foundation
    import Testing

    /// A trait of Swift Testing that sets ``OfflineIcons/current`` for a test or each test of a
    /// suite. The test fails if icons are missing.
    public struct OfflineIconsTrait: TestTrait, SuiteTrait, TestScoping {
        let makeIcons: @Sendable () throws -> OfflineIcons

        /// Always true, so that nested suites inherit the trait.
        public var isRecursive: Bool { true }

        /// Runs one test, and records an issue if icons are missing.
        public func provideScope(
            for test: Test, testCase: Test.Case?,
            performing function: @Sendable () async throws -> Void
        ) async throws {
            let icons = try makeIcons()
            // Checks the icons even after an error, because a missing icon may have caused it.
            defer {
                do { try icons.finish() } catch {
                    Issue.record(error, sourceLocation: test.sourceLocation)
                }
            }
            try await OfflineIcons.$current.withValue(icons) { try await function() }
        }
    }

    extension Trait where Self == OfflineIconsTrait {
        /// Gives each test an ``OfflineIcons`` with these parameters.
        public static func offlineIcons(
            cache: URL, manifest: URL? = nil, missingList: URL? = nil, strict: Bool = true,
            placeholder: PlaceholderColor = .magenta
        ) -> Self {
            Self {
                try OfflineIcons(
                    cache: cache, manifest: manifest, missingList: missingList, strict: strict,
                    placeholder: placeholder)
            }
        }
    }
#endif
