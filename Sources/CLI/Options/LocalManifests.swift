import ArgumentParser
import Foundation
import LarderKit

/// Manifests that name resources and of which nothing is fetched: files, or standard input.
struct LocalManifests {
    private let sources: [ManifestSource]
    private let rules: ManifestRules

    /// - Throws: `ValidationError` where one is a URL.
    init(_ names: [String], rules: ManifestRules) throws {
        self.rules = rules
        sources = try names.map { name in
            guard !Self.isURL(name) else {
                throw ValidationError("'\(name)' is a URL: the manifest must be a file here.")
            }
            return name == "-" ? .standardInput : .file(name)
        }
    }

    /// Hands over the keys of their entries.
    func forEachKey(_ body: (String) throws -> Void) throws {
        try ManifestKeys(sources, rules: rules).forEach(body)
    }

    /// The same, where one entry that cannot be used is an error, and so is that there is none at all.
    func forEachKeyOfAll(_ body: (String) throws -> Void) throws {
        var isEmpty = true
        try ManifestKeys(sources, rules: rules, mustBeUsable: true).forEach { key in
            isEmpty = false
            try body(key)
        }
        guard isEmpty else { return }
        throw ManifestError(
            .empty, source: sources.map(\.name).joined(separator: ", "),
            "no icon is named: everything would go")
    }

    static func isURL(_ text: String) -> Bool {
        let start = text.prefix(8).lowercased()
        return start.hasPrefix("http://") || start.hasPrefix("https://")
    }
}
