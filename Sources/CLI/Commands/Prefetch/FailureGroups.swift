import LarderCore
import LarderManifest

/// The failures of a run: a few of each reason are shown one by one, the rest is counted by host.
struct FailureGroups {
    private static let handful = 5
    private static let mostHosts = 8
    /// Limits memory, because a manifest may have as many hosts as icons.
    private static let mostGroups = 4096

    private struct Group: Hashable {
        let code: String
        let host: String
    }

    private var shown: [String: Int] = [:]
    private var rest: [Group: Int] = [:]
    /// Those at hosts beyond ``mostGroups``.
    private var others: [String: Int] = [:]

    /// Returns whether the failure is to be shown by itself.
    mutating func add(_ code: String, at url: String?) -> Bool {
        let number = shown[code, default: 0]
        guard number >= Self.handful else {
            shown[code] = number + 1
            return true
        }
        let group = Group(code: code, host: url?.hostAndPort ?? "")
        if rest[group] != nil || rest.count < Self.mostGroups {
            rest[group, default: 0] += 1
        } else {
            others[code, default: 0] += 1
        }
        return false
    }

    /// What was not shown by itself, by reason and host, the most frequent first.
    var lines: [String] { Set(rest.keys.map(\.code)).union(others.keys).sorted().flatMap(lines) }

    private func lines(of code: String) -> [String] {
        let sorted = rest.filter { $0.key.code == code }
            .map { (host: $0.key.host, count: $0.value) }
            .sorted { ($1.count, $0.host) < ($0.count, $1.host) }
        // Naming one more takes no more room than counting it.
        let named =
            sorted.count == Self.mostHosts + 1 ? sorted : Array(sorted.prefix(Self.mostHosts))
        var lines = named.map { host, count in
            let place = host.isEmpty ? "" : " at \(host.sanitizedForTerminal)"
            return "\(code): \(count) more\(place)"
        }
        let unnamed = sorted.dropFirst(named.count).reduce(0) { $0 + $1.count }
        let uncounted = others[code, default: 0]
        if unnamed + uncounted > 0 {
            let place =
                uncounted > 0 ? "other hosts" : (sorted.count - named.count).of("other host")
            lines.append("\(code): \(unnamed + uncounted) more at \(place)")
        }
        return lines
    }
}

/// Limits complaints about unsupported schemes to one each. The summary counts the icons.
struct UnsupportedSchemes {
    private var schemes: Set<String> = []

    mutating func isNew(_ code: String?, _ message: String?) -> Bool {
        guard let message, code == EntryError.Code.unsupportedScheme.rawValue else { return true }
        // Skips what differs between lines: "line 7: icon has the scheme …".
        let scheme = message.drop { $0 != "'" }
        // A list of nothing but different schemes must not fill the memory.
        return schemes.count < 32 && schemes.insert(String(scheme)).inserted
    }
}
