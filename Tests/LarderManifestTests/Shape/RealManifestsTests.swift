import Foundation
import Testing

@testable import LarderManifest

private let directory = ProcessInfo.processInfo.environment["LARDER_REAL_MANIFESTS"]

/// Real manifests, compared with the table in INDEX.md of the directory that
/// `LARDER_REAL_MANIFESTS` names.
@Suite struct RealManifestsTests {
    struct Row: Sendable {
        let file: String
        let entries: Int
        let urls: Int
    }

    static func rows() throws -> [Row] {
        let index = try String(contentsOfFile: "\(directory ?? ".")/INDEX.md", encoding: .utf8)
        return index.split(separator: "\n").compactMap { line in
            let cells = line.split(separator: "|").map { $0.trimmingCharacters(in: .whitespaces) }
            guard cells.count > 3, let entries = Int(cells[2]), let urls = Int(cells[3]) else {
                return nil
            }
            return Row(file: cells[0], entries: entries, urls: urls)
        }
    }

    @Test(.enabled(if: directory != nil)) func realManifestsHaveTheExpectedEntries() throws {
        let rows = try Self.rows()
        #expect(!rows.isEmpty)
        for row in rows {
            let source = ManifestSource.file("\(directory ?? ".")/\(row.file)")
            guard row.entries > 0 else {
                #expect(try manifestError(source) != nil, "\(row.file)")
                continue
            }
            let reading = try readManifest(source, base: "https://base.example/")
            #expect(reading.summary?.entries == row.entries, "\(row.file)")
            // Icons with another scheme count, too.
            let others = reading.words.count { $0 == "other-scheme" }
            let urls = Set(reading.entries.map(\.icon)).count + others
            #expect(urls == row.urls, "\(row.file)")
        }
    }

    /// A real manifest whose known keys are replaced by unknown ones.
    struct Renamed: Sendable {
        let file: String
        let names: [String: String]
        let options: String
        let count: Int
    }

    static let renamed = [
        Renamed(
            file: "altstore-sidecommunity.json",
            names: ["apps": "applications", "iconURL": "app_icon"],
            options: "--entries applications --icon-key app_icon --name-key name", count: 23),
        Renamed(
            file: "itunes-slack.json",
            names: ["results": "hits?", "artworkUrl60": "s", "artworkUrl512": "l"],
            options: "--entries '[\"hits?\"]' --icon-key artworkUrl100 --name-key trackName",
            count: 39),
        Renamed(
            file: "rss-feed-entry.json", names: ["entry": "rows", "im:image": "x:pics"],
            options:
                "--entries feed.rows --icon-key '[\"x:pics\"][*].label' --name-key title.label",
            count: 2),
        Renamed(
            file: "rss-feed-results.json", names: ["results": "list"],
            options: "--entries feed.list --icon-key artworkUrl100 --name-key name", count: 100),
        Renamed(
            file: "fdroid-index-v1.json", names: ["apps": "packages"],
            options: "--entries packages --icon-key 'localized.*.icon' --name-key packageName",
            count: 13),
        Renamed(
            file: "tokens-uniswap.json", names: ["logoURI": "logo_png"],
            options: "--icon-key logo_png --name-key name", count: 393),
        Renamed(
            file: "portainer-templates.json", names: ["logo": "picture"],
            options: "--icon-key picture --name-key title", count: 47),
        Renamed(
            file: "topapps.json", names: ["apps": "liste", "thumb": "bild"],
            options: "--entries liste --icon-key bild --name-key name", count: 110),
        Renamed(
            file: "flathub-popular.json", names: ["hits": "found", "icon": "icon_128"],
            options: "--entries found --icon-key icon_128 --name-key name", count: 3),
        Renamed(
            file: "apps.plist", names: ["icon": "symbol"],
            options: "--icon-key symbol --name-key name", count: 16),
    ]

    @Test(.enabled(if: directory != nil), arguments: renamed)
    func theSuggestedOptionsReadAManifest(_ manifest: Renamed) throws {
        var text = try String(
            contentsOfFile: "\(directory ?? ".")/\(manifest.file)", encoding: .utf8)
        for (old, new) in manifest.names {
            text = text.replacing("\"\(old)\"", with: "\"\(new)\"")
                .replacing("<key>\(old)</key>", with: "<key>\(new)</key>")
        }
        let source = ManifestSource.bytes(Array(text.utf8), name: "test")
        var rules = ManifestRules()
        let suggestions = ManifestSurvey.suggestions(for: source, isPart: false, rules: rules)
        let best = try #require(suggestions.first)
        #expect(best.options == manifest.options)
        #expect(best.count == manifest.count && !best.isPart)

        rules.entries = best.entries.map { [$0] } ?? []
        rules.iconKeys = [best.icon]
        rules.nameKey = best.name
        let reading = try readManifest(source, base: "https://base.example/", rules: rules)
        let icons = reading.items.filter {
            if case .skipped = $0.result { false } else { true }
        }
        #expect(Set(icons.map(\.position)).count == manifest.count)
        #expect(reading.errors.isEmpty)
    }
}
