import Foundation
import LarderTestSupport
import LarderTestTLS
import Testing

/// `verify --repair` with icons that are unchanged, changed or gone at the origin.
@Suite struct VerifyRepairTests {
    private struct Report: Decodable {
        struct Finding: Decodable, Equatable {
            let kind: String
            let repair: String?
            let quarantine: String?
        }
        struct Refetch: Decodable, Equatable {
            let url: String
            let outcome: String
        }

        let clean: Bool
        let repaired: Int
        let findings: [Finding]
        let refetches: [Refetch]
    }

    private func withFilledCache(_ body: (CLIFixture, [String]) throws -> Void) async throws {
        try await withFixture { larder in
            let urls = larder.origin.serveIcons(4)
            #expect(try larder.prefetch(try larder.manifest(urls: urls)).status == 0)
            larder.origin.resetLog()
            try body(larder, urls)
        }
    }

    private func repair(_ larder: CLIFixture) throws -> (Int32, Report) {
        let finished = try larder.run("verify", "--repair", "--json", "--allow-private-network")
        let report = try JSONDecoder().decode(Report.self, from: finished.standardOutputBytes)
        return (finished.status, report)
    }

    private func damage(_ url: String, _ larder: CLIFixture) throws -> [UInt8] {
        let bytes: [UInt8] = Array("damaged \(url)".utf8)
        try larder.overwrite(try larder.objectPath(url), with: bytes)
        return bytes
    }

    @Test func repairRestoresTheSameBytes() async throws {
        try await withFilledCache { larder, urls in
            let bad = try damage(urls[0], larder)
            try FileManager.default.removeItem(atPath: larder.objectPath(urls[1]))
            let (status, report) = try repair(larder)
            #expect(status == 0)
            #expect(!report.clean && report.repaired == 2)
            #expect(Set(report.findings.map(\.kind)) == ["corrupt", "missing"])
            #expect(report.findings.allSatisfy { $0.repair == "restored" })
            #expect(Set(report.refetches.map(\.url)) == Set(urls[..<2]))
            #expect(report.refetches.allSatisfy { $0.outcome == "fetched" })
            #expect(larder.origin.requests.count == 2)

            // The damaged file is kept in quarantine, under the digest of its object.
            let quarantine = try #require(report.findings.compactMap(\.quarantine).first)
            let digest = ReferenceSHA256.hex(Icons.icon(0))
            #expect(quarantine.hasPrefix("quarantine/\(digest)-"))
            let kept = try Data(contentsOf: URL(fileURLWithPath: "\(larder.cache)/\(quarantine)"))
            #expect(Array(kept) == bad)
            #expect(try larder.cat(urls[0]) == Icons.icon(0))
            #expect(try larder.cat(urls[1]) == Icons.icon(1))
            #expect(try larder.verify() == 0)
            #expect(try larder.temporaries().isEmpty)
        }
    }

    @Test func repairStoresChangedBytesAndReportsThem() async throws {
        try await withFilledCache { larder, urls in
            _ = try damage(urls[0], larder)
            larder.origin.on("/0", Icons.reply(70))
            let (status, report) = try repair(larder)
            #expect(status == 0)
            #expect(report.findings.map(\.repair) == ["changed"])
            #expect(report.refetches == [.init(url: urls[0], outcome: "changed")])
            #expect(try larder.cat(urls[0]) == Icons.icon(70))
            #expect(try larder.verify() == 0)
        }
    }

    @Test func anIconThatCannotBeRepairedIsFetchedLater() async throws {
        try await withFilledCache { larder, urls in
            _ = try damage(urls[0], larder)
            larder.origin.on("/0", .status(404))
            let finished = try larder.run("verify", "--repair", "--allow-private-network")
            #expect(finished.status == 2, "\(finished)")
            #expect(finished.standardOutput.contains("(lost)"), "\(finished)")
            #expect(
                finished.standardOutput.contains("download failed: \(urls[0]): http-404: "),
                "\(finished)")
            #expect(
                finished.standardOutput.hasSuffix(
                    "\n1 object not recovered; the next repair or prefetch downloads it\n"))
            // The cache stops serving the icon, but keeps its URL.
            #expect(try larder.cat(urls[0]) == nil)
            let again = try larder.run("verify", "--repair", "--allow-private-network")
            #expect(again.status == 2, "\(again)")
            #expect(again.standardOutput.contains("\n4 objects, "), "\(again)")
            #expect(again.standardOutput.contains(": 3 whole, 1 missing ("), "\(again)")
            #expect(
                again.standardOutput.hasSuffix(
                    "\n1 object not recovered; the next repair or prefetch downloads it\n"))
            #expect(try larder.run("list").standardOutput.contains(urls[0]) == false)
            #expect(try larder.verify() == 2)
            larder.origin.on("/0", Icons.reply(0))
            // A failed repair does not keep a prefetch from requesting the icon.
            let run = try larder.prefetch(larder.directory.path("apps.json"))
            #expect(run.summary.fetched == 1 && run.summary.cached == 3)
        }
    }

    /// Three entries share an object, and one of them is gone at the origin.
    @Test func repairFetchesEveryURLOfAnObject() async throws {
        try await withFixture { larder in
            let origin = larder.origin
            for path in ["/a", "/b", "/c"] { origin.on(path, Icons.reply(5)) }
            let manifest = try larder.manifest([
                ["icon": origin.url("/a")], ["icon": origin.url("/b"), "key": "b"],
                ["icon": origin.url("/c")],
            ])
            #expect(try larder.prefetch(manifest).status == 0)
            _ = try damage(origin.url("/a"), larder)
            origin.on("/c", .status(404))
            let (status, report) = try repair(larder)
            #expect(status == 2)
            #expect(report.findings.map(\.repair) == ["lost"])
            let outcomes = report.refetches.sorted { $0.url < $1.url }
            #expect(
                outcomes == [
                    .init(url: origin.url("/a"), outcome: "fetched"),
                    .init(url: origin.url("/c"), outcome: "failed"),
                    .init(url: "key:b", outcome: "fetched"),
                ])
            #expect(try larder.cat("b") == Icons.icon(5))
            // The object is restored, but one of its URLs is not.
            #expect(try larder.verify() == 2)
            origin.on("/c", Icons.reply(6))
            let (second, next) = try repair(larder)
            #expect(second == 0)
            #expect(next.refetches == [.init(url: origin.url("/c"), outcome: "changed")])
            #expect(try larder.cat("b") == Icons.icon(5))
            #expect(try larder.verify() == 0)
        }
    }

    /// A repair accepts the content that `--any-content` accepted before.
    @Test func repairRestoresObjectsThatAreNotImages() async throws {
        try await withFixture { larder in
            larder.origin.on("/text", Reply.ok("text").header("Cache-Control", "no-store"))
            larder.origin.on("/icon", Icons.reply(1))
            let manifest = try larder.manifest(
                larder.origin.url("/text"), larder.origin.url("/icon"))
            let run = try larder.prefetch(manifest, options: ["--any-content", "--store-anyway"])
            #expect(run.summary.fetched == 2)
            _ = try damage(larder.origin.url("/text"), larder)
            _ = try damage(larder.origin.url("/icon"), larder)
            // A page in place of an icon is still refused.
            larder.origin.on("/icon", .ok("<html>"))
            let (status, report) = try repair(larder)
            #expect(status == 2)
            let outcomes = Dictionary(
                report.refetches.map { ($0.url, $0.outcome) }, uniquingKeysWith: { $1 })
            #expect(
                outcomes == [
                    larder.origin.url("/text"): "fetched", larder.origin.url("/icon"): "failed",
                ])
            #expect(try larder.cat(larder.origin.url("/text")) == Array("text".utf8))
        }
    }

    @Test func repairFixesPermissionsLinksAndMisplacedObjects() async throws {
        try await withFilledCache { larder, urls in
            let paths = try urls.map { try larder.objectPath($0) }
            chmod(paths[0], 0o600)
            let outside = larder.directory.path("precious")
            try Data(Icons.icon(1)).write(to: URL(fileURLWithPath: outside))
            try FileManager.default.removeItem(atPath: paths[1])
            try FileManager.default.createSymbolicLink(
                atPath: paths[1], withDestinationPath: outside)
            let name = URL(fileURLWithPath: paths[2]).lastPathComponent
            let other = larder.cache + "/objects/sha256/" + (name.hasPrefix("00") ? "01" : "00")
            try FileManager.default.createDirectory(
                atPath: other, withIntermediateDirectories: true)
            try FileManager.default.moveItem(atPath: paths[2], toPath: "\(other)/\(name)")
            try Data("mine".utf8).write(to: URL(fileURLWithPath: other + "/notes.txt"))

            let (status, report) = try repair(larder)
            #expect(status == 0)
            #expect(
                Set(report.findings.map { "\($0.kind) \($0.repair ?? "-")" }) == [
                    "mode restored", "link restored", "misplaced restored", "missing restored",
                    "foreign -",
                ])
            // The misplaced object is moved back, so only the linked one is downloaded.
            #expect(report.refetches == [.init(url: urls[1], outcome: "fetched")])
            #expect(larder.origin.requests.count == 1)
            #expect(Array(try Data(contentsOf: URL(fileURLWithPath: outside))) == Icons.icon(1))
            #expect(FileManager.default.fileExists(atPath: other + "/notes.txt"))
            for (number, url) in urls.enumerated() {
                #expect(try larder.cat(url) == Icons.icon(number))
                var status = stat()
                #expect(lstat(paths[number], &status) == 0 && status.st_mode == S_IFREG | 0o444)
            }
        }
    }

    @Test func repairRefusesBytesThatTheManifestDoesNotAllow() async throws {
        try await withFilledCache { larder, urls in
            let digest = ReferenceSHA256.hex(Icons.icon(0))
            let lock = try larder.manifest(
                [["icon": urls[0], "sha256": digest], ["icon": urls[1]]], name: "lock.json")
            for url in urls[..<2] { _ = try damage(url, larder) }
            larder.origin.on("/0", Icons.reply(70))
            let arguments = ["verify", "--manifest", lock, "--cache", larder.cache]
            let repair = ["--repair", "--quiet", "--allow-private-network"]
            let finished = try larder.binary.run(arguments + repair)
            #expect(finished.status == 2, "\(finished)")
            #expect(
                finished.standardError
                    == "larder: 2 corrupt, 1 repaired; 1 object not recovered, first failure: "
                    + "\(urls[0]): integrity-mismatch; the next repair or prefetch downloads it\n")
            #expect(try larder.cat(urls[0]) == nil)
            #expect(try larder.cat(urls[1]) == Icons.icon(1))
            // Reported once, as damaged, and not also as an entry that was never cached.
            let quiet = try larder.binary.run(arguments + ["--quiet"])
            #expect(quiet.status == 2)
            #expect(quiet.standardError.hasPrefix("larder: 1 missing, 1 whole; "), "\(quiet)")
            #expect(quiet.standardError.contains("was damaged"), "\(quiet)")
            // The next repair still requires the digest in the manifest.
            #expect(try larder.binary.run(arguments + repair).status == 2)
            #expect(try larder.cat(urls[0]) == nil)
            larder.origin.on("/0", Icons.reply(0))
            #expect(try larder.binary.run(arguments + repair).status == 0)
            #expect(try larder.cat(urls[0]) == Icons.icon(0))
        }
    }

    @Test func repairOfACleanCacheMakesNoRequests() async throws {
        try await withFilledCache { larder, _ in
            let (status, report) = try repair(larder)
            #expect(status == 0 && report.clean && report.refetches.isEmpty)
            #expect(larder.origin.requests.isEmpty)
            #expect(!FileManager.default.fileExists(atPath: larder.cache + "/quarantine"))
        }
    }

    @Test func repairRefusesPrivateAddressesAsPrefetchDoes() async throws {
        try await withFilledCache { larder, urls in
            _ = try damage(urls[0], larder)
            let finished = try larder.run("verify", "--repair")
            #expect(finished.status == 2)
            #expect(
                finished.standardOutput.contains("download failed: \(urls[0]): address-refused: "),
                "\(finished)")
            // The failure itself names the option.
            #expect(
                finished.standardOutput.ranges(of: "--allow-private-network").count == 1,
                "\(finished)")
            #expect(larder.origin.requests.isEmpty)
            // The refused URL is not forgotten.
            let (status, report) = try repair(larder)
            #expect(status == 0)
            #expect(report.findings.map(\.repair) == ["restored"])
            #expect(report.refetches == [.init(url: urls[0], outcome: "fetched")])
            #expect(try larder.cat(urls[0]) == Icons.icon(0))
            #expect(try larder.verify() == 0)
        }
    }

    @Test(arguments: ["certificate", "http-401", "http-406"])
    func aFailedRepairNamesTheMissingOptions(_ code: String) async throws {
        try await withFixture { larder in
            larder.origin.on("/a") { request in
                switch code {
                case "http-401" where request.header("Authorization") != "Bearer t": .status(401)
                case "http-406" where request.header("User-Agent") != "app/1": .status(406)
                default: Icons.reply(0)
                }
            }
            let front = try TLSFront(originPort: larder.origin.port)
            let isTLS = code == "certificate"
            let url = isTLS ? front.url("/a") : larder.origin.url("/a")
            let options =
                switch code {
                case "certificate": ["--ca-cert", TestCertificates.authorityPath]
                case "http-401": ["--header", "Authorization: Bearer t"]
                default: ["--user-agent", "app/1"]
                }
            let run = try larder.prefetch(try larder.manifest(url), options: options)
            #expect(run.status == 0, "\(run.finished)")
            _ = try damage(url, larder)
            let repair = ["verify", "--repair", "--allow-private-network"]
            for format in ["--color=never", "--json"] {
                let finished = try larder.run(arguments: repair + [format])
                #expect(finished.status == 2, "\(finished)")
                #expect(
                    finished.standardOutput.ranges(of: options[0]).count == 1, "\(finished)")
                #expect(finished.standardOutput.contains(url), "\(finished)")
            }
            let quiet = try larder.run(arguments: repair + ["--quiet"])
            #expect(quiet.status == 2)
            #expect(
                quiet.standardError.contains(
                    ", first failure: \(url): \(code); if the prefetch used "), "\(quiet)")
            #expect(quiet.standardError.ranges(of: options[0]).count == 1, "\(quiet)")
            // With the option, the repair succeeds, because the URL is not forgotten.
            #expect(try larder.run(arguments: repair + options).status == 0)
            #expect(try larder.cat(url) == Icons.icon(0))
        }
    }

    /// An option in use cannot be the missing one.
    @Test func aFailedRepairDoesNotNameOptionsInUse() async throws {
        try await withFilledCache { larder, urls in
            _ = try damage(urls[0], larder)
            larder.origin.on("/0", .status(401))
            let finished = try larder.run(
                "verify", "--repair", "--allow-private-network", "--header", "X-Test: 1")
            #expect(finished.status == 2)
            #expect(
                finished.standardOutput.contains(
                    "; if the prefetch used --netrc or --client-cert or --user-agent, also use it"),
                "\(finished)")
        }
    }

    @Test func repairOfAManifestIgnoresOtherDamagedIcons() async throws {
        try await withFilledCache { larder, urls in
            _ = try damage(urls[0], larder)
            #expect(try larder.run("verify", "--repair").status == 2)
            let others = try larder.manifest(urls: Array(urls[1...]), name: "others.json")
            let arguments = ["verify", "--repair", "--allow-private-network", "--manifest", others]
            #expect(try larder.run(arguments: arguments).status == 0)
            #expect(larder.origin.requests.isEmpty)
            #expect(try larder.verify() == 2)
        }
    }

    /// Otherwise `verify` would always report a URL that is permanently gone.
    @Test(arguments: [["--max-age", "0s"], ["--only"]])
    func evictionForgetsDamagedIcons(_ options: [String]) async throws {
        try await withFilledCache { larder, urls in
            _ = try damage(urls[0], larder)
            #expect(try larder.run("verify", "--repair").status == 2)
            #expect(try larder.run("evict", "--max-size", "1GB").status == 0)
            #expect(try larder.verify() == 2)
            let others = try larder.manifest(urls: Array(urls[1...]), name: "others.json")
            let manifest = options == ["--only"] ? [others] : []
            #expect(try larder.run(arguments: ["evict"] + options + manifest).status == 0)
            #expect(try larder.verify() == 0)
        }
    }

    /// The same options would have protected the intact objects.
    @Test(arguments: ["--keep", "pin"])
    func evictionRemembersDamagedIconsThatAreProtected(_ protection: String) async throws {
        try await withFilledCache { larder, urls in
            if protection == "pin" { #expect(try larder.run("pin", urls[0]).status == 0) }
            for url in urls[..<2] { _ = try damage(url, larder) }
            #expect(try larder.run("verify", "--repair").status == 2)
            let kept = try larder.manifest(urls[0], name: "kept.json")
            let options = protection == "--keep" ? ["--keep", kept] : []
            #expect(try larder.run(arguments: ["evict", "--max-age", "0s"] + options).status == 0)
            let (status, report) = try repair(larder)
            #expect(status == 0)
            #expect(report.refetches == [.init(url: urls[0], outcome: "fetched")])
        }
    }
}
