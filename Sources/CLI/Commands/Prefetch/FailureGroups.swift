import LarderCore
import LarderManifest

/// Groups of failures by code and host. The first failures of each code are shown, and other
/// failures are counted by host.
struct FailureGroups {
    private static let shownPerCode = 5
    private static let maximumHosts = 8
    /// Limits memory, because each icon may have a different host.
    private static let maximumGroups = 4096

    private struct Group: Hashable {
        let code: String
        let host: String
    }

    private var shown: [String: Int] = [:]
    private var rest: [Group: Int] = [:]
    private var others: [String: Int] = [:]

    mutating func add(_ code: String, at url: String?) -> Bool {
        if shown[code, default: 0] < Self.shownPerCode {
            shown[code, default: 0] += 1
            return true
        }
        let group = Group(code: code, host: url?.hostAndPort ?? "")
        if rest[group] != nil || rest.count < Self.maximumGroups {
            rest[group, default: 0] += 1
        } else {
            others[code, default: 0] += 1
        }
        return false
    }

    var lines: [String] { Set(rest.keys.map(\.code)).union(others.keys).sorted().flatMap(lines) }

    private func lines(of code: String) -> [String] {
        let sorted = rest.filter { $0.key.code == code }
            .map { (host: $0.key.host, count: $0.value) }
            .sorted { ($1.count, $0.host) < ($0.count, $1.host) }
        // A single remaining host is shown, because "1 other host" would be as long.
        let limit = Self.maximumHosts
        let named = sorted.prefix(sorted.count == limit + 1 ? limit + 1 : limit)
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

/// Messages that several failed entries have in common, each shown once.
struct CommonFailures {
    private static let maximumConflicts = 4096

    private var conflicts: Set<String> = []

    mutating func isNew(_ code: String?, _ message: String?) -> Bool {
        guard let message, code == EntryError.Code.integrityConflict.rawValue else { return true }
        return conflicts.count >= Self.maximumConflicts || conflicts.insert(message).inserted
    }
}
