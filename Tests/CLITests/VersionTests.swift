import Foundation
import LarderPrefetch
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

    /// A release is named in all of these.
    @Test(arguments: [
        ("CHANGELOG.md", "## \(LarderVersion.current)"),
        ("action.yml", "default: \(LarderVersion.current)"),
        ("README.md", "`larder_\(LarderVersion.current)-1_amd64.deb`"),
        ("README.md", "./larder_\(LarderVersion.current)-1_amd64.deb`"),
        ("README.md", "larder-\(LarderVersion.current)-linux-x86_64.tar.gz"),
        ("README.md", "larder-\(LarderVersion.current)-macos-arm64.tar.gz"),
        ("docs/ci.md", "/larder@v\(LarderVersion.current)"),
    ])
    func theVersionIsIn(_ file: String, _ text: String) throws {
        let page = URL(fileURLWithPath: #filePath).deletingLastPathComponent()
            .appendingPathComponent("../../\(file)").standardizedFileURL
        #expect(try String(contentsOf: page, encoding: .utf8).contains(text))
    }
}
