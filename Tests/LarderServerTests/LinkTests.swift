#if os(Linux)
    import LarderTestSupport
    import Testing

    /// A program that serves, exports and reads manifests needs libxml2 and libyaml, but not
    /// libcurl.
    @Suite struct LinkTests {
        @Test func offlineModulesDoNotLinkLibcurl() async throws {
            let run = try await onThreadOfItsOwn { try LarderBinary("links-without-curl").run([]) }
            try #require(run.status == 0, "\(run)")
            #expect(run.standardOutput.contains("libxml2"))
            #expect(run.standardOutput.contains("libyaml"))
            #expect(!run.standardOutput.contains("libcurl"))
        }
    }
#endif
