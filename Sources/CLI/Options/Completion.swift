import ArgumentParser
import Foundation
import LarderCache

extension ArgumentVisibility {
    static let rare: ArgumentVisibility = {
        let words = CommandLine.arguments.dropFirst().prefix { $0 != "--" }
            .drop { $0 == ConfigFile.exclusion }
        let isHelp = words.first == "help" || words.contains("--help") || words.contains("-h")
        return isHelp && !words.contains("--help-all") ? .hidden : .default
    }()
}

extension ArgumentHelp {
    static func common(_ abstract: String, _ valueName: String) -> ArgumentHelp {
        ArgumentHelp(abstract, valueName: valueName)
    }

    static func rare(_ abstract: String, _ valueName: String? = nil) -> ArgumentHelp {
        ArgumentHelp(abstract, valueName: valueName, visibility: .rare)
    }
}

extension CompletionKind {
    static let manifest = file(extensions: [
        "gz", "json", "jsonl", "ndjson", "opml", "plist", "rss", "txt", "xml", "yaml", "yml",
    ])
    static let cachedNames = custom { words, index, prefix in
        // A slow cache must not delay the shell for longer than 2 s.
        alarm(2)
        // Bash and zsh do not remove quotation marks from words.
        let words = (words.prefix(index) + [prefix]).map { $0.filter { !"\"'\\".contains($0) } }
        let option = cache(in: words).map { ["--cache", $0.expandingHome] } ?? []
        guard let options = try? CacheOptions.parse(option),
            // The last name is included, so that the shell inserts only the prefix of all names.
            let names = try? Cache.open(at: options.path).keys(
                beginningWith: words.last ?? "", limit: 200,
                arePinned: words.dropFirst().first == "unpin")
        else { return [] }
        let isZsh = CompletionShell.requesting == .zsh
        // Zsh reads the text after a colon as a description.
        return names.filter(isShowable).map { isZsh ? $0.replacing(":", with: "\\:") : $0 }
    }

    private static func cache(in words: [String]) -> String? {
        if let word = words.last(where: { $0.hasPrefix("--cache=") }) {
            return String(word.dropFirst("--cache=".count))
        }
        guard let place = words.lastIndex(of: "--cache") else {
            return ConfigFile.cache(for: Array(words.dropFirst()))
        }
        // Bash passes "=" as a separate word.
        return words[(place + 1)...].first { $0 != "=" }
    }

    /// Whether a name has no secrets and no characters that a terminal or a shell would interpret.
    private static func isShowable(_ name: String) -> Bool {
        name.utf8.count <= 2048 && name.shownAsURL.utf8.elementsEqual(name.utf8)
            && !name.utf8.contains { " $`\\\"'{}".utf8.contains($0) }
    }
}
