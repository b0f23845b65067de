import Foundation
import LarderPrefetch
import LarderTestSupport
import Testing

/// `--version`, which identifies the build in a bug report.
@Suite struct VersionTests {
    @Test func versionNamesTheReleaseTheCommitAndLibcurl() throws {
        let finished = try LarderBinary().run(["--version"])
        #expect(finished.status == 0 && finished.standardError.isEmpty)
        let form = #/larder (\S+) \(([0-9a-f]{12}(-dirty)?|unknown commit), libcurl (\S+)\)\n/#
        let match = try #require(finished.standardOutput.wholeMatch(of: form), "\(finished)")
        #expect(match.output.1 == LarderVersion.current)
        #expect(match.output.4.contains(/^[78]\.\d+\.\d/))
    }

    @Test(arguments: [
        ("CHANGELOG.md", "## \(LarderVersion.current)"),
        ("action.yml", "default: \(LarderVersion.current)"),
        ("README.md", "`larder_\(LarderVersion.current)-1_amd64.deb`"),
        ("README.md", "/larder_\(LarderVersion.current)-1_amd64.deb`"),
        ("README.md", "larder-\(LarderVersion.current)-linux-x86_64.tar.gz"),
        ("README.md", "larder-\(LarderVersion.current)-macos-arm64.tar.gz"),
    ])
    func theReleaseFilesNameTheCurrentVersion(_ file: String, _ text: String) throws {
        #expect(try self.text(file).contains(text))
    }

    @Test(arguments: [
        ".github/workflows/release.yml", "Packaging/debian/control", "Packaging/larder.rb",
        "Scripts/package", "action.yml", "contrib/kubernetes-job.yaml", "docs/ci.md",
    ])
    func theReleaseFilesHaveNoPlaceholder(_ file: String) throws {
        let found = try text(file).matches(of: /OWNER|larder\.example|example\.com\/larder/)
        #expect(found.isEmpty)
    }

    private func text(_ file: String) throws -> String {
        let page = URL(fileURLWithPath: #filePath).deletingLastPathComponent()
            .appendingPathComponent("../../\(file)").standardizedFileURL
        return try String(contentsOf: page, encoding: .utf8)
    }
}
