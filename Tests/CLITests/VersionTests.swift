import LarderKit
import LarderTestSupport
import Testing

/// `--version` says what this is, for a report of a bug.
@Suite struct VersionTests {
    @Test func versionCommitAndLibcurl() throws {
        let finished = try LarderBinary().run(["--version"])
        #expect(finished.status == 0 && finished.standardError.isEmpty)
        let form = #/larder (\S+) \(([0-9a-f]{12}(-dirty)?|unknown commit), libcurl (\S+)\)\n/#
        let said = try #require(finished.standardOutput.wholeMatch(of: form), "\(finished)")
        #expect(said.output.1 == LarderVersion.current)
        #expect(said.output.4.contains(/^[78]\.\d+\.\d/))
    }
}
