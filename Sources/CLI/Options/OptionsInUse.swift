import Foundation
import LarderCore

/// The options of this run that a suggested command also needs.
enum OptionsInUse {
    typealias Names = [String: Bool]

    private static let access = names(
        flags: ["--allow-private-network", "--allow-downgrade", "--netrc"],
        values: [
            "--allow-host", "--ca-cert", "--client-cert", "--client-key", "--connect-to",
            "--header", "--max-object-size", "--netrc-file", "--no-proxy", "--proxy", "--resolve",
            "--user-agent",
        ])
    static let reading = names(values: [
        "--base-url", "--entries", "--icon-key", "--icon-set", "--icon-size", "--icon-template",
        "--icons", "--integrity-key", "--ipfs-gateway", "--max-entries", "--max-manifest-size",
        "--max-unpack-ratio", "--name-key", "--priority-key",
    ])
    private static let prefetching = names(
        flags: ["--any-content", "--remote-read-only", "--store-anyway"],
        values: [
            "--attempts", "--connect-timeout", "--failure-ttl", "--limit-rate", "--max-concurrent",
            "--max-failures", "--max-per-host", "--rate-per-host", "--remote",
            "--remote-fresh-for", "--retry-max-time", "--shard", "--split-host",
            "--stall-timeout", "--timeout",
        ])
    private static let remote = names(
        flags: ["--remote-unsigned"],
        values: [
            "--remote-concurrent", "--remote-endpoint", "--remote-max-objects",
            "--remote-profile", "--remote-region",
        ])
    private static let connection = names(values: [
        "--ca-cert", "--connect-to", "--no-proxy", "--proxy", "--resolve",
    ])

    static func names(for words: String) -> Names {
        let groups =
            switch words.split(separator: " ").first {
            case "prefetch": [access, reading, prefetching, remote]
            case "plan": [reading]
            case "verify": words.contains(" --manifest") ? [access, reading] : [access]
            case "remote": [connection, remote]
            default: [Names]()
            }
        let everywhere = ["--cache": true, ConfigFile.exclusion: false]
        return groups.reduce(into: everywhere) { $0.merge($1) { $1 } }
    }

    /// Returns the options, each after a space. Secrets are replaced by an ellipsis.
    static func text(
        for words: String, in arguments: [String] = CommandLine.arguments,
        file: ConfigFile? = ConfigFile.inUse.withLock { $0 },
        environment: [String: String] = ProcessInfo.processInfo.environment
    ) -> String {
        let names = names(for: words)
        let used = file?.used ?? []
        let suggested = NamedCommand.program.find(words.split(separator: " ").map(String.init))
        let others = file?.lines(for: suggested.command) ?? []
        let fromFile = used.filter { !others.contains($0) }.map(\.argument)
        var rest = fromFile[...] + arguments.dropFirst().prefix { $0 != "--" }
        var options: [String] = []
        while let argument = rest.popFirst() {
            let isShort = argument.hasPrefix("-j")
            let name = isShort ? "--max-concurrent" : String(argument.prefix { $0 != "=" })
            guard let takesValue = names[name] else { continue }
            let text = argument.dropFirst(isShort ? 2 : name.count + 1)
            let joined = isShort ? text.drop { $0 == "=" } : text
            let isJoined = isShort ? !joined.isEmpty : name != argument
            let value = isJoined || !takesValue ? String(joined) : rest.popFirst() ?? ""
            options.append(takesValue ? shown(value, of: name) : name)
        }
        if !options.contains(where: { $0.hasPrefix("--cache") }) {
            if let cache = environment["LARDER_CACHE"], !cache.isEmpty {
                options.append(shown(cache, of: "--cache"))
            } else if others.contains(where: { $0.name == "--cache" && !used.contains($0) }) {
                options.append(shown(CacheOptions.defaultPath, of: "--cache"))
            }
        }
        return options.map { " \($0)" }.joined()
    }

    /// Returns the option with its quoted value, or with an ellipsis for a secret.
    static func shown(_ value: String, of name: String) -> String {
        isShown(value, of: name) ? .shellOption(name, value) : "\(name) '…'"
    }

    static func isShown(_ value: String, of name: String) -> Bool {
        name != "--header" && !(name == "--proxy" && value.utf8.contains(UInt8(ascii: "@")))
            && value.removingUserinfo.shownAsURL.isSame(as: value)
    }

    private static func names(flags: [String] = [], values: [String]) -> Names {
        let pairs = flags.map { ($0, false) } + values.map { ($0, true) }
        return Names(uniqueKeysWithValues: pairs)
    }
}
