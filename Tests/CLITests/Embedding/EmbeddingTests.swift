import Foundation
import LarderTestSupport
import Testing

/// Apps that embed LarderCache or LarderIcons, the pages' code, and the examples. Takes minutes,
/// because the tests build from scratch.
@Suite struct EmbeddingTests {
    private static let root = URL(fileURLWithPath: #filePath)
        .deletingLastPathComponent().deletingLastPathComponent().deletingLastPathComponent()
        .deletingLastPathComponent().path

    @Test(.isLong, .timeLimit(.minutes(60)))
    func anAppBuildsOnlyTheCacheAndItsDependencies() async throws {
        try await withFixture { larder in
            let icon = Icons.reply(1)
            larder.origin.on("/notes.png", icon)
            let url = larder.origin.url("/notes.png")
            try #require(try larder.prefetch(larder.manifest(urls: [url])).status == 0)

            let app = larder.directory.path("app")
            try FileManager.default.createDirectory(
                atPath: app + "/Sources/App", withIntermediateDirectories: true)
            try Data(try Self.package().utf8)
                .write(to: URL(fileURLWithPath: app + "/Package.swift"))
            try Data(try Self.main(url).utf8)
                .write(to: URL(fileURLWithPath: app + "/Sources/App/main.swift"))
            let build = try await swift("build", "--package-path", app, "--jobs", "2")
            try #require(build.status == 0, "\(build)")

            let checkouts = try names(app + "/.build/checkouts")
            #expect(checkouts == ["GRDB.swift", "swift-asn1", "swift-crypto"])
            #expect(
                try names(app + "/.build/debug/Modules", ".swiftmodule") == [
                    "App", "Crypto", "CryptoBoringWrapper", "GRDB", "LarderCache",
                    "LarderCore",
                ])
            let run = try await onThreadOfItsOwn {
                try RunningProcess(app + "/.build/debug/App", [larder.cache]).wait()
            }
            #expect(run.standardOutput == "\(icon.bodyLength)\n", "\(run)")
        }
    }

    /// Even with the default traits, an app does not clone packages that only the command line
    /// needs, such as SwiftNIO and swift-argument-parser.
    @Test(.isLong, .timeLimit(.minutes(30)))
    func anAppWithDefaultTraitsClonesNoCommandLinePackages() async throws {
        try await withTemporaryDirectory { directory in
            let app = directory.path("app")
            try FileManager.default.createDirectory(
                atPath: app + "/Sources/App", withIntermediateDirectories: true)
            let package = try Self.package().replacingOccurrences(of: ", traits: []", with: "")
            try Data(package.utf8).write(to: URL(fileURLWithPath: app + "/Package.swift"))
            try Data("import LarderCache\n".utf8)
                .write(to: URL(fileURLWithPath: app + "/Sources/App/main.swift"))
            let resolved = try await swift("package", "resolve", "--package-path", app)
            try #require(resolved.status == 0, "\(resolved)")
            #expect(
                try names(app + "/.build/checkouts") == [
                    "GRDB.swift", "swift-asn1", "swift-collections", "swift-crypto", "swift-log",
                ])
        }
    }

    /// Builds a copy of `Examples/` and runs its reader on a cache.
    @Test(.isLong, .timeLimit(.minutes(60)))
    func theExamplesBuildAndReadACache() async throws {
        try await withFixture { larder in
            let icon = Icons.reply(1)
            larder.origin.on("/notes.png", icon)
            let url = larder.origin.url("/notes.png")
            try #require(try larder.prefetch(larder.manifest(urls: [url])).status == 0)

            let examples = try copyExamples(larder)
            let build = try await swift("build", "--package-path", examples, "--jobs", "2")
            try #require(build.status == 0, "\(build)")
            #expect(!build.standardError.contains("warning:"), "\(build)")

            #expect(
                try names(examples + "/.build/checkouts") == [
                    "GRDB.swift", "swift-asn1", "swift-crypto",
                ])
            #expect(
                try names(examples + "/.build/debug/Modules", ".swiftmodule") == [
                    "Crypto", "CryptoBoringWrapper", "GRDB", "LarderCache", "LarderIcons",
                    "LarderCore",
                    "icon_list", "icon_reader", "nuke_cache",
                ])
            let reader = examples + "/.build/debug/icon-reader"
            let run = try await onThreadOfItsOwn {
                try RunningProcess(reader, [larder.cache, url, "https://a.example/none"]).wait()
            }
            #expect(run.status == 1)
            #expect(
                run.standardOutput == """
                    image/svg+xml, \(icon.bodyLength) bytes, disk: \(url)
                    https://a.example/none: is not cached

                    """, "\(run)")
        }
    }

    /// Builds a copy of `Examples/`, and runs its tests without a network: with all icons of a lock,
    /// and then with one icon that is not cached.
    @Test(
        .isLong, .timeLimit(.minutes(60)),
        .enabled(if: isUnshareAllowed, "unshare -rn is not installed or not allowed"))
    func theTestsOfTheExamplesRunWithoutANetwork() async throws {
        try await withFixture { larder in
            let examples = try copyExamples(larder)
            let lock = examples + "/icons.lock.json"
            let urls = larder.origin.serveIcons(1_000)
            let run = try larder.prefetch(
                larder.manifest(urls: urls), options: ["--write-lock", lock])
            try #require(run.status == 0)
            try FileManager.default.copyItem(
                atPath: larder.cache, toPath: examples + "/.larder-cache")

            let build = try await swift(
                "build", "--build-tests", "--package-path", examples, "--jobs", "2")
            try #require(build.status == 0, "\(build)")
            #expect(!build.standardError.contains("warning:"), "\(build)")
            let requests = larder.origin.count()
            let whole = try await offlineTests(examples)
            #expect(whole.status == 0, "\(whole)")
            #expect("\(whole)".contains("Test run with 2 tests"), "\(whole)")

            let absent = larder.origin.url("/absent")
            let text = try String(contentsOfFile: lock, encoding: .utf8)
            let end = try #require(text.range(of: "\n]\n", options: .backwards))
            let integrity = "sha256-" + Data(count: 32).base64EncodedString()
            let entry = #"{"icon":"\#(absent)","integrity":"\#(integrity)","size":1}"#
            try Data("\(text[..<end.lowerBound]),\n\(entry)\n]\n".utf8)
                .write(to: URL(fileURLWithPath: lock))
            let partial = try await offlineTests(examples)
            #expect(partial.status == 1, "\(partial)")
            #expect(
                "\(partial)".contains("Test theFirstScreenShowsItsIcons() passed"), "\(partial)")
            #expect("\(partial)".contains("Test theListShowsAllIcons() failed"), "\(partial)")
            #expect("\(partial)".contains("\(absent) is not cached"), "\(partial)")
            let list = try String(contentsOfFile: examples + "/missing.txt", encoding: .utf8)
            #expect(list == absent + "\n")
            #expect(larder.origin.count() == requests)
        }
    }

    /// Runs the tests of the package in a network namespace without a route.
    private func offlineTests(_ package: String) async throws -> Finished {
        try await onThreadOfItsOwn {
            try RunningProcess(
                "/usr/bin/env",
                [
                    "unshare", "-rn", "swift", "test", "--skip-build", "--disable-xctest",
                    "--package-path", package,
                ]
            ).wait()
        }
    }

    /// Returns the path of a copy of `Examples/` that depends on this package.
    private func copyExamples(_ larder: CLIFixture) throws -> String {
        let examples = larder.directory.path("examples")
        try FileManager.default.copyItem(atPath: Self.root + "/Examples", toPath: examples)
        let package = try String(contentsOfFile: examples + "/Package.swift", encoding: .utf8)
        try Data(
            package.replacingOccurrences(of: "path: \"..\"", with: "path: \"\(Self.root)\"").utf8
        )
        .write(to: URL(fileURLWithPath: examples + "/Package.swift"))
        for name in [".build", ".larder-cache", "missing.txt"] {
            try? FileManager.default.removeItem(atPath: "\(examples)/\(name)")
        }
        return examples
    }

    private func names(_ directory: String, _ suffix: String = "") throws -> Set<String> {
        let names = try FileManager.default.contentsOfDirectory(atPath: directory)
        return Set(names.filter { $0.hasSuffix(suffix) }.map { String($0.dropLast(suffix.count)) })
    }

    private func swift(_ arguments: String...) async throws -> Finished {
        try await onThreadOfItsOwn {
            try RunningProcess("/usr/bin/env", ["swift"] + arguments).wait(timeout: 3_000)
        }
    }

    /// Returns the package of the page about apps, as a program that uses LarderCache.
    private static func package() throws -> String {
        let code = try #require(
            try Article.blocks(of: "docs/apps.md").first { $0.contains("PackageDescription") })
        return code.replacingOccurrences(of: "../larder", with: root)
            .replacingOccurrences(of: ".package(", with: #".package(name: "larder", "#)
            .replacingOccurrences(of: ".target(", with: ".executableTarget(")
            .replacingOccurrences(of: "LarderIcons", with: "LarderCache")
    }

    /// Returns the article's code. It prints the size of the icon with this URL.
    private static func main(_ url: String) throws -> String {
        let article = "Sources/LarderCache/LarderCache.docc/GettingStarted.md"
        let code = try #require(
            try Article.blocks(of: article).first { $0.contains("import LarderCache\n") })
        return code + """
            print(try icon("\(url)", inCacheAt: CommandLine.arguments[1])?.count ?? 0)

            """
    }
}

private let isUnshareAllowed =
    (try? RunningProcess("/usr/bin/env", ["unshare", "-rn", "true"]).wait().status) == 0
