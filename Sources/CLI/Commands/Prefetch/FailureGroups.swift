import LarderCore
import LarderManifest

/// The failures of a run as a person at a terminal wants them: a few of each reason one by one, and
/// of the rest how many there are at each host.
package struct FailureGroups {
    /// So many of each reason are shown one by one.
    private static let handful = 5
    /// So many hosts of each reason are named.
    private static let mostHosts = 8
    /// So many reasons and hosts are told apart: a manifest of as many hosts as icons is not to
    /// fill the memory.
    private static let mostGroups = 4096

    private struct Group: Hashable {
        let code: String
        let host: String
    }

    private var shown: [String: Int] = [:]
    private var rest: [Group: Int] = [:]
    /// Those at hosts beyond ``mostGroups``.
    private var others: [String: Int] = [:]

    package init() {}

    package mutating func add(_ code: String, at url: String?) -> Bool {
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

    /// Lines for people: what was not shown by itself, by reason and host, those with the most
    /// first.
    package var lines: [String] {
        Set(rest.keys.map(\.code)).union(others.keys).sorted().flatMap(lines)
    }

    private func lines(of code: String) -> [String] {
        let sorted = rest.filter { $0.key.code == code }.map {
            (host: $0.key.host, count: $0.value)
        }
        .sorted { ($1.count, $0.host) < ($0.count, $1.host) }
        // One more takes no more room than to say that there is one more.
        let named =
            sorted.count == Self.mostHosts + 1 ? sorted : Array(sorted.prefix(Self.mostHosts))
        var lines = named.map { host, count in
            let place = host.isEmpty ? "" : " at \(host.sanitizedForTerminal)"
            return "\(code): \(count) more\(place)"
        }
        let unnamed = sorted.dropFirst(named.count).reduce(0) { $0 + $1.count }
        let uncounted = others[code, default: 0]
        if unnamed + uncounted > 0 {
            let hosts = (sorted.count - named.count).of("other host")
            let place = uncounted > 0 ? "other hosts" : hosts
            lines.append("\(code): \(unnamed + uncounted) more at \(place)")
        }
        return lines
    }
}

/// Keeps a manifest of `ftp:` icons from being a complaint for each: one is made of each scheme,
/// and the summary has their number.
struct UnsupportedSchemes {
    private var schemes: Set<String> = []

    mutating func isNew(_ code: String?, _ message: String?) -> Bool {
        guard let message, code == EntryError.Code.unsupportedScheme.rawValue else { return true }
        // Of each line the same: "line 7: icon has the scheme …".
        let scheme = message.drop { $0 != "'" }
        // A list of nothing but different schemes is not to fill the memory.
        return schemes.count < 32 && schemes.insert(String(scheme)).inserted
    }
}
