import LarderCore
import LarderManifest

/// Groups of failures by code and host. The first failures of each code are shown, and other
/// failures are counted by host.
struct FailureGroups {
    private static let shownPerCode = 5
    private static let maximumHosts = 8
    /// Limits memory, because each icon may have a different host.
    private static let maximumGroups = 4096

    private var shown: [String: Int] = [:]
    /// Failures that are not shown, counted by code and host.
    private var rest: [String: [String: Int]] = [:]
    private var others: [String: Int] = [:]

    mutating func add(_ code: String, at url: String?) -> Bool {
        if shown[code, default: 0] < Self.shownPerCode {
            shown[code, default: 0] += 1
            return true
        }
        let host = url?.hostAndPort ?? ""
        if rest[code]?[host] != nil
            || rest.values.reduce(0, { $0 + $1.count }) < Self.maximumGroups
        {
            rest[code, default: [:]][host, default: 0] += 1
        } else {
            others[code, default: 0] += 1
        }
        return false
    }

    var lines: [String] { Set(rest.keys).union(others.keys).sorted().flatMap(lines) }

    private func lines(of code: String) -> [String] {
        let sorted = rest[code, default: [:]].sorted { ($1.value, $0.key) < ($0.value, $1.key) }
        // A single remaining host is shown, because "1 other host" would be as long.
        let limit = Self.maximumHosts
        let named = sorted.prefix(sorted.count == limit + 1 ? limit + 1 : limit)
        var lines = named.map { host, count in
            let place = host.isEmpty ? "" : " at \(host.sanitizedForTerminal)"
            return "\(code): \(count) more\(place)"
        }
        let unnamed = sorted.dropFirst(named.count).reduce(0) { $0 + $1.value }
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
