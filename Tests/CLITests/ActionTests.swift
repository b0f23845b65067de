import Foundation
import LarderTestSupport
import Testing

/// The script behind `action.yml`, which fills a cache in continuous integration.
@Suite struct ActionTests {
    private static let script = URL(fileURLWithPath: #filePath).deletingLastPathComponent()
        .appendingPathComponent("../../Packaging/action").standardizedFileURL.path

    @Test func theActionEvictsOnlyIconsThatTheManifestDoesNotName() async throws {
        try await withFixture { larder in
            larder.origin.on("/a.png", Icons.reply(1))
            larder.origin.on("/b.png", Icons.reply(2))
            let former = try larder.manifest(larder.origin.url("/b.png"))
            #expect(try larder.prefetch(former).status == 0)
            let manifest = try larder.manifest([["title": "A", "picture": "a.png"]])
            var environment = ProcessInfo.processInfo.environment
            environment.merge([
                "PROGRAM": larder.binary.path, "MANIFESTS": manifest, "CACHE": larder.cache,
                "READING": "--base-url \(larder.origin.url("/")) --icon-key picture",
                "OPTIONS": "--allow-private-network", "VERSION": "", "RELEASES": "",
                "GITHUB_PATH": larder.directory.path("path"),
                "GITHUB_OUTPUT": larder.directory.path("output"),
                "GITHUB_STEP_SUMMARY": larder.directory.path("summary"),
            ]) { $1 }
            let finished = try RunningProcess(Self.script, [], environment: environment).wait()
            #expect(finished.status == 0, "\(finished)")
            let listed = try larder.run("list")
            #expect(listed.standardOutput.contains("/a.png"))
            #expect(!listed.standardOutput.contains("/b.png"))
        }
    }

    /// GitHub names no repository for an action in the workspace.
    @Test func anActionInTheWorkspaceNeedsAProgram() throws {
        var environment = ProcessInfo.processInfo.environment
        environment["PROGRAM"] = ""
        environment["RELEASES"] = "https://github.example//releases/download"
        let finished = try RunningProcess(Self.script, [], environment: environment).wait()
        #expect(finished.status == 1)
        #expect(finished.standardOutput.hasPrefix("::error::") && finished.standardError.isEmpty)
    }
}
