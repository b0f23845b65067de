import Foundation
import LarderCore
import LarderImages
import LarderManifest
import LarderTestSupport
import Testing

struct SampleManifestsTests: ImageTests {
    private let root = URL(fileURLWithPath: #filePath)
        .deletingLastPathComponent().deletingLastPathComponent().deletingLastPathComponent()
        .appendingPathComponent("manifests", isDirectory: true)

    @Test(arguments: SampleManifests.files.keys.sorted())
    func committedSamplesMatchTheGenerator(path: String) throws {
        let committed = try Data(contentsOf: root.appendingPathComponent(path))
        #expect(committed == SampleManifests.files[path].map { Data($0) }, "\(path)")
    }

    @Test func theGeneratorWritesEveryCommittedIcon() throws {
        let paths = try FileManager.default.subpathsOfDirectory(
            atPath: root.appendingPathComponent("icons").path)
        for path in paths where !URL(fileURLWithPath: path).pathExtension.isEmpty {
            #expect(SampleManifests.files["icons/\(path)"] != nil, "\(path)")
        }
    }

    @Test func onlyBrokenSampleIconsAreRejected() {
        for (path, bytes) in SampleManifests.files where path.hasPrefix("icons/") {
            #expect((fault(bytes) == nil) != path.contains("broken"), "\(path)")
            #expect(bytes.count < 10_000, "\(path)")
        }
    }

    @Test func theSamplesCoverTheirCases() {
        let files = SampleManifests.files
        #expect(files["icons/north/icon.png"] != files["icons/south/icon.png"])
        #expect(files["icons/clock.png"] == files["icons/alarm.png"])
        let types = files.compactMap { path, bytes in
            path.hasPrefix("icons/") ? try? inspect(bytes).mediaType : nil
        }
        // A format that is added later needs no sample.
        let formats: [MediaType] = [.png, .jpeg, .gif, .webp, .ico, .bmp, .svg, .avif, .heic]
        #expect(Set(types.map(\.rawValue)) == Set(formats.map(\.rawValue)))
    }

    @Test func theClassicListIsEqualInThreeFormats() throws {
        let classic = try #require(try list("apps.plist"))
        #expect(classic.count == 16)
        #expect(try list("apps.binary.plist") == classic)
        let lines = try #require(SampleManifests.files["apps.jsonl"])
            .split(separator: UInt8(ascii: "\n"))
        let decoder = JSONDecoder()
        #expect(
            try lines.map { try decoder.decode([String: String].self, from: Data($0)) } == classic)
    }

    @Test(arguments: ["source.json": 2, "site.webmanifest": 3, "urls.txt": 3])
    func samplesInOtherFormatsAreReadable(_ path: String, _ count: Int) throws {
        let content = try #require(SampleManifests.files[path])
        let base = try HTTPURL("http://127.0.0.1:\(SampleManifests.port)/")
        var icons: [String] = []
        _ = try ManifestReader(
            source: .bytes(content, name: path), rules: ManifestRules(baseURL: base)
        ).read { item in
            if case .entry(let entry) = item.result { icons.append(entry.icon.string) }
        }
        #expect(icons.count == count)
        for icon in icons { #expect(bytes(of: icon) != nil, "\(icon)") }
    }

    @Test func everySampleEntryNamesAnIconAndItsDigest() throws {
        struct App: Decodable {
            let icon: String
            let integrity: String?
            let sha256: String?
            let size: Int?
        }
        let json = try #require(SampleManifests.files["apps.json"])
        let detailed = try JSONDecoder().decode([String: [App]].self, from: Data(json))["apps"]
        var named = try #require(try list("apps.plist")).compactMap { $0["icon"] }
        let shared = named.count
        for app in try #require(detailed) {
            let bytes = try #require(self.bytes(of: app.icon))
            let digest = Data(ReferenceSHA256.digest(bytes)).base64EncodedString()
            #expect(app.integrity == nil || app.integrity == "sha256-\(digest)")
            #expect(app.sha256 == nil || app.sha256 == ReferenceSHA256.hex(bytes))
            #expect(app.size == nil || app.size == bytes.count)
            named.append(app.icon)
        }
        #expect(Set(named).count == 26 && named.count - Set(named).count == 4 && shared == 16)
        for icon in named { #expect(bytes(of: icon) != nil, "\(icon)") }
    }

    @Test func writtenSamplesAreReadBackUnchanged() throws {
        let directory = FileManager.default.temporaryDirectory
            .appendingPathComponent(UUID().uuidString, isDirectory: true)
        defer { try? FileManager.default.removeItem(at: directory) }
        try SampleManifests.write(to: directory.path)
        try SampleManifests.write(to: directory.path)
        for (path, bytes) in SampleManifests.files {
            #expect(try Data(contentsOf: directory.appendingPathComponent(path)) == Data(bytes))
        }
    }

    private func list(_ path: String) throws -> [[String: String]]? {
        let bytes = try #require(SampleManifests.files[path])
        return try PropertyListSerialization.propertyList(from: Data(bytes), format: nil)
            as? [[String: String]]
    }

    private func bytes(of icon: String) -> [UInt8]? {
        for host in ["127.0.0.1", "localhost"] {
            let prefix = "http://\(host):\(SampleManifests.port)/"
            if icon.hasPrefix(prefix) {
                return SampleManifests.files[String(icon.dropFirst(prefix.count))]
            }
        }
        return nil
    }
}
