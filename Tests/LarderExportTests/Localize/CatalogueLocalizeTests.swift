import Foundation
import LarderCache
import LarderManifest
import Testing

@testable import LarderExport

/// The recognised files of `Tests/Catalogues`, localized for each target.
@Suite struct CatalogueLocalizeTests {
    private static let directory = URL(fileURLWithPath: #filePath)
        .deletingLastPathComponent().appendingPathComponent("../../Catalogues").path

    /// A catalogue, and its icons in the order of the file.
    private struct Reading {
        let file: String
        let bytes: [UInt8]
        let items: [ManifestItem]
        let summary: ManifestSummary

        init(_ file: String, _ bytes: [UInt8]) throws {
            var items: [ManifestItem] = []
            summary = try ManifestReader(source: .bytes(bytes, name: file)).read {
                items.append($0)
            }
            (self.file, self.bytes, self.items) = (file, bytes, items)
        }
    }

    @Test func onlyIconValuesChange() throws {
        let catalogues = try FileManager.default.contentsOfDirectory(atPath: Self.directory)
            .filter { $0 != "expected.txt" && !$0.hasPrefix("other-") }
            .map { file in
                let url = URL(fileURLWithPath: "\(Self.directory)/\(file)")
                return try Reading(file, Array(Data(contentsOf: url)))
            }
        let keys = Set(catalogues.flatMap { $0.items.compactMap(\.resourceKey) })
        let icons = Dictionary(
            uniqueKeysWithValues: keys.enumerated().map { ($1, ExportScene.icon($0)) })
        try ExportScene.run { scene in
            try scene.store(icons)
            let cache = try Cache.open(at: scene.cachePath)
            let targets = [
                LocalizeTarget.icons(scene.target, seenFrom: scene.directory.path("")),
                .server("http://h"), .data(limit: 1 << 20),
            ]
            for target in targets {
                var count = 0
                for catalogue in catalogues {
                    count += try localize(catalogue, target, cache, icons, in: scene)
                }
                #expect(count >= 70)
            }
        }
    }

    /// Returns the number of icons with a new value.
    private func localize(
        _ old: Reading, _ target: LocalizeTarget, _ cache: Cache, _ icons: [String: [UInt8]],
        in scene: ExportScene
    ) throws -> Int {
        let localizer = try Localizer(cache, target)
        var output: [UInt8] = []
        let report = try localizer.localize(Catalogue(.bytes(old.bytes, name: old.file))) {
            output += $0
        }
        var values: [String: String] = [:]
        try localizer.edits.forEachIcon { values[$0] = $1 }
        let new = try Reading(old.file, output)

        // The new value of each icon. The cache cannot have the bytes of a stated digest.
        let texts = try old.items.map { item -> String? in
            guard case .entry(let entry) = item.result, let written = item.value?.text,
                !item.result.expectation.isDemanding
            else { return nil }
            let text = try #require(values[written], "\(old.file): \(written)")
            let icon = try #require(icons[entry.resourceKey])
            #expect(try leads(text, to: icon, of: entry.resourceKey, target, in: scene))
            return text
        }

        // Reading the output gives these values.
        let expected = zip(old.items, texts).map { item, text in
            line(item, isLostImage(item, target) ? nil : text ?? item.value?.text)
        }
        #expect(new.items.map { line($0, $0.value?.text) } == expected, "\(old.file)")
        #expect(new.summary.places?.shape == old.summary.places?.shape)

        // All bytes outside of the values stay.
        var edits: [(span: Range<Int>, text: String)] = []
        for case (let value?, let text?) in zip(old.items.map(\.value), texts) {
            edits.append((value.span, text))
        }
        edits.sort { $0.span.lowerBound < $1.span.lowerBound }
        #expect(report.localized == edits.count)
        var rest = output[...]
        var end = 0
        for (span, text) in edits {
            try #require(span.lowerBound >= end && !span.isEmpty)
            let kept = old.bytes[end..<span.lowerBound]
            try #require(rest.starts(with: kept), "\(old.file)")
            rest = rest.dropFirst(kept.count)
            let tokens = ["", "\"", "'"].map { Array("\($0)\(text)\($0)".utf8) }
            let token = tokens.first { rest.starts(with: $0) }
            rest = rest.dropFirst(try #require(token, "\(old.file)").count)
            end = span.upperBound
        }
        #expect(rest.elementsEqual(old.bytes[end...]), "\(old.file)")

        // Another parser finds the same texts elsewhere.
        if old.summary.format == .json {
            let before = try leaves(JSONSerialization.jsonObject(with: Data(old.bytes)))
            let after = try leaves(JSONSerialization.jsonObject(with: Data(output)))
            #expect(Set(before.keys) == Set(after.keys))
            let changed = before.filter { after[$0.key] != $0.value }
            #expect(changed.count == edits.count, "\(old.file)")
            #expect(changed.allSatisfy { values[$0.value] == after[$0.key] }, "\(old.file)")
        }
        return edits.count
    }

    private func line(_ item: ManifestItem, _ text: String?) -> String {
        "\(item.position).\(item.icon) \(item.name ?? "") \(text ?? "")"
    }

    /// Without a medium and a type, only the file name says that an image is at this URL. The URL
    /// of a server has no file name.
    private func isLostImage(_ item: ManifestItem, _ target: LocalizeTarget) -> Bool {
        guard case .server = target else { return false }
        return item.value?.text == "https://photos.example/c.jpg?width=140"
    }

    private func leads(
        _ value: String, to icon: [UInt8], of key: String, _ target: LocalizeTarget,
        in scene: ExportScene
    ) throws -> Bool {
        switch target {
        case .icons:
            let file = URL(fileURLWithPath: scene.directory.path(value))
            return Array(try Data(contentsOf: file)) == icon
        case .server(let server): return value == LocalizeTarget.url(of: key, at: server)
        case .data:
            return value == "data:image/svg+xml;base64,\(Data(icon).base64EncodedString())"
        }
    }

    /// Returns the texts and numbers of a JSON document by their paths.
    private func leaves(_ node: Any, at path: String = "") -> [String: String] {
        let inner: [(String, Any)]
        switch node {
        case let members as [String: Any]: inner = members.map { ($0.key, $0.value) }
        case let elements as [Any]: inner = elements.enumerated().map { ("\($0)", $1) }
        default: return [path: "\(node)"]
        }
        return inner.reduce(into: [:]) { all, next in
            all.merge(leaves(next.1, at: "\(path)/\(next.0)")) { $1 }
        }
    }
}
