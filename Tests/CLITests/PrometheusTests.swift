import Foundation
import LarderCache
import LarderTestSupport
import Testing

/// `status --format prometheus`, parsed strictly and compared with the documented metrics.
@Suite struct PrometheusTests {
    private func metrics(_ larder: CLIFixture) throws -> Exposition {
        let finished = try larder.run("status", "--format", "prometheus")
        #expect(finished.status == 0, "\(finished)")
        return try Exposition(finished.standardOutput)
    }

    private func documentedNames() throws -> [String] {
        try OutputDocument().table("status --format prometheus", "metric").words
    }

    @Test func everyDocumentedMetricIsExported() async throws {
        try await withFixture { larder in
            let urls = larder.origin.serveIcons(3)
            let manifest = try larder.manifest(urls: urls + [larder.origin.url("/missing")])
            #expect(try larder.prefetch(manifest).status == 2)
            #expect(try larder.run("pin", urls[0], urls[1]).status == 0)
            try larder.overwrite(try larder.objectPath(urls[2]), with: [1])
            _ = try larder.run("verify", "--repair", "--allow-private-network")
            _ = try larder.run("evict", "--max-count", "2")
            _ = try larder.run("reindex")
            let metrics = try metrics(larder)
            let names = try documentedNames().flatMap { name in
                name.hasSuffix("<count>")
                    ? RunRecord.Count.allCases.map { "larder_last_run_\($0.rawValue)" } : [name]
            }
            #expect(metrics.names == names)
            #expect(metrics.samples.allSatisfy { $0.labels["cache"] == larder.cache })
            #expect(metrics.value("larder_objects") == 2)
            #expect(metrics.value("larder_failures") == 1)
            #expect(metrics.value("larder_pins") == 2)
            #expect(metrics.value("larder_quarantined") == 1)
            #expect(metrics.value("larder_last_run_exit_status", command: "prefetch") == 2)
            #expect(metrics.value("larder_last_run_entries", command: "prefetch") == 4)
            #expect(metrics.value("larder_last_run_entries", command: "verify") == nil)
            #expect(metrics.value("larder_last_run_repaired", command: "verify") == 1)
            #expect(metrics.value("larder_last_run_evicted_objects", command: "evict") == 1)
            let now = Date().timeIntervalSince1970
            for name in names where name.hasSuffix("_timestamp_seconds") {
                let values = metrics.samples.filter { $0.name == name }.map(\.value)
                #expect(values.allSatisfy { (now - 300...now).contains($0) }, "\(name) \(values)")
            }
            #expect(
                try Double(larder.status().bytes) == metrics.value("larder_object_bytes"))
        }
    }

    /// A timestamp of 0 would mean 1970.
    private static let hasPromtool =
        (try? RunningProcess("/usr/bin/env", ["promtool", "--version"]).wait())?.status == 0

    @Test(.enabled(if: hasPromtool, "promtool is not installed (Scripts/setup --servers)"))
    func promtoolAcceptsTheMetricsOfStatusAndServe() async throws {
        try await withFixture { larder in
            let manifest = try larder.manifest(urls: larder.origin.serveIcons(2))
            #expect(try larder.prefetch(manifest).status == 0)
            for command in ["verify", "evict"] { _ = try larder.run(command) }
            let serve = try ServeRun(larder)
            let served = try serve.client().get("/metrics").body
            #expect(try serve.stop().status == 0)
            let status = try larder.run("status", "--format", "prometheus").standardOutputBytes
            for metrics in [status, Data(served)] {
                #expect(!metrics.isEmpty)
                let finished = try RunningProcess(
                    "/usr/bin/env", ["promtool", "check", "metrics"], standardInput: metrics
                ).wait()
                #expect(finished.status == 0, "\(finished)")
                #expect(finished.standardOutput.isEmpty && finished.standardError.isEmpty)
            }
        }
    }

    @Test func anEmptyCacheHasZeroCountsAndNoTimestamps() async throws {
        try await withFixture { larder in
            mkdir(larder.cache, 0o700)
            let metrics = try metrics(larder)
            #expect(metrics.samples.allSatisfy { $0.value == 0 })
            #expect(!metrics.names.contains { $0.hasSuffix("_timestamp_seconds") })
            #expect(metrics.value("larder_objects") == 0)
        }
    }

    @Test func theCachePathIsEscapedInLabels() async throws {
        try await withFixture { larder in
            let odd = larder.directory.path("a \"b\" \\c\nd")
            mkdir(odd, 0o700)
            let finished = try larder.binary.run([
                "status", "--format", "prometheus", "--cache", odd,
            ])
            let metrics = try Exposition(finished.standardOutput)
            #expect(metrics.samples.first?.labels == ["cache": odd])
        }
    }

    // MARK: --output

    @Test func theOutputFileIsReplacedAtomically() async throws {
        try await withFixture { larder in
            mkdir(larder.cache, 0o700)
            let file = larder.directory.path("metrics/larder.prom")
            mkdir(larder.directory.path("metrics"), 0o755)
            try Data("old".utf8).write(to: URL(fileURLWithPath: file))
            // A process that has opened the old file still reads the old text.
            let reader = try #require(FileHandle(forReadingAtPath: file))
            let finished = try larder.run("status", "--format", "prometheus", "--output", file)
            #expect(finished.status == 0 && finished.standardOutput.isEmpty, "\(finished)")
            #expect(try reader.readToEnd() == Data("old".utf8))
            #expect(try Exposition(String(contentsOfFile: file, encoding: .utf8)).names.count > 5)
            let names = try FileManager.default.contentsOfDirectory(
                atPath: larder.directory.path("metrics"))
            #expect(names == ["larder.prom"])
            #expect(try larder.run("status", "--json", "--output", file).status == 0)
            #expect(try String(contentsOfFile: file, encoding: .utf8).hasPrefix("{\"path\":"))
        }
    }

    @Test func outputReplacesOnlyRegularFiles() async throws {
        try await withFixture { larder in
            mkdir(larder.cache, 0o700)
            let missing = larder.directory.path("missing/a")
            for path in ["/dev/null", larder.directory.path, missing, "/dev/full/a"] {
                let finished = try larder.run("status", "--output", path)
                #expect(finished.status == 1, "\(finished)")
                #expect(finished.standardError.hasPrefix("larder: \(path): "))
            }
            var status = stat()
            #expect(lstat("/dev/null", &status) == 0 && status.st_mode & S_IFMT == S_IFCHR)
        }
    }

    @Test func theCronPageNamesOnlyExistingMetrics() throws {
        let page = URL(fileURLWithPath: #filePath).deletingLastPathComponent()
            .appendingPathComponent("../../docs/cache.md").standardizedFileURL
        let words = try String(contentsOf: page, encoding: .utf8)
            .split { !($0.isLetter || $0.isNumber || $0 == "_") }
        let named = Set(words.filter { $0.hasPrefix("larder_") }.map(String.init))
        #expect(named.count >= 2)
        #expect(named.isSubset(of: Set(try documentedNames())))
    }
}
