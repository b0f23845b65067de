import Foundation
import LarderCore

/// The options of this run that a suggested command also needs.
enum OptionsInUse {
    private static let access = [
        "--allow-downgrade", "--allow-host", "--allow-private-network", "--ca-cert",
        "--client-cert", "--client-key", "--connect-to", "--header", "--max-object-size",
        "--netrc", "--netrc-file", "--no-proxy", "--proxy", "--resolve", "--user-agent",
    ]
    static let reading = [
        "--base-url", "--entries", "--icon-key", "--icon-set", "--icon-size", "--icon-template",
        "--icons", "--integrity-key", "--ipfs-gateway", "--max-entries", "--max-manifest-size",
        "--max-unpack-ratio", "--name-key", "--priority-key",
    ]
    private static let prefetching = [
        "--any-content", "--attempts", "--connect-timeout", "--failure-ttl", "--limit-rate",
        "--max-concurrent", "--max-failures", "--max-per-host", "--rate-per-host", "--remote",
        "--remote-fresh-for", "--remote-read-only", "--retry-max-time", "--shard", "--split-host",
        "--stall-timeout", "--store-anyway", "--timeout",
    ]
    private static let remote = [
        "--remote-concurrent", "--remote-endpoint", "--remote-max-objects", "--remote-profile",
        "--remote-region", "--remote-unsigned",
    ]
    private static let connection = [
        "--ca-cert", "--connect-to", "--no-proxy", "--proxy", "--resolve",
    ]

    static func names(for words: String) -> [String] {
        let names =
            switch words.split(separator: " ").first {
            case "prefetch": access + reading + prefetching + remote
            case "plan": reading
            case "verify": words.contains(" --manifest") ? access + reading : access
            case "remote": connection + remote
            default: [String]()
            }
        return names + ["--cache"]
    }

    /// Returns the options, each after a space. Secrets are replaced by an ellipsis.
    static func text(
        for words: String, in arguments: [String] = CommandLine.arguments,
        file: ConfigFile? = ConfigFile.inUse.withLock { $0 },
        environment: [String: String] = ProcessInfo.variables
    ) -> String {
        let names = names(for: words)
        let used = file?.used ?? []
        let suggested = NamedCommand.program.find(words.split(separator: " ").map(String.init))
        let others = file?.lines(for: suggested.command) ?? []
        let fromFile = used.filter { !others.contains($0) }.map(\.argument)
        let given = ConfigFile.withoutExclusion(arguments)
        let running = NamedCommand.withGroup(Array(given.dropFirst()))
        let (command, rest) = NamedCommand.program.find(running)
        var options = command.givenOptions(in: fromFile + rest).options
            .filter { names.contains($0.name) }
            .map { option in option.value.map { shown($0, of: option.name) } ?? option.name }
        if !options.contains(where: { $0.hasPrefix("--cache") }) {
            if let cache = environment["LARDER_CACHE"], !cache.isEmpty {
                options.append(shown(cache, of: "--cache"))
            } else if others.contains(where: { $0.name == "--cache" && !used.contains($0) }) {
                options.append(shown(CacheOptions.defaultPath, of: "--cache"))
            }
        }
        if given.count < arguments.count { options.append(ConfigFile.exclusion) }
        return options.map { " \($0)" }.joined()
    }

    static func shown(_ value: String, of name: String) -> String {
        isShown(value, of: name) ? .shellOption(name, value) : "\(name) '…'"
    }

    static func isShown(_ value: String, of name: String) -> Bool {
        name != "--header" && !(name == "--proxy" && value.utf8.contains(UInt8(ascii: "@")))
            && value.removingUserinfo.shownAsURL.isSame(as: value)
    }
}
