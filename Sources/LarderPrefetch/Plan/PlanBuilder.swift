import Foundation
import GRDB
import LarderCache
import LarderCore
import LarderManifest

struct PlanBuilder {
    var summary = PlanSummary()
    private(set) var origins = OriginNames([])
    /// The last row's number. SQLite chooses it, because inserting given numbers is slower.
    private(set) var lastID: Int64 = 0
    private var priorities: (lowest: Int, highest: Int) = (.max, .min)
    private var last: (url: HTTPURL, number: Int)?
    private let shard: Shard?
    private let seal: CredentialSeal
    let db: Database
    private let insertEntry: PreparedStatement

    var areInOrder: Bool { origins.all.count <= 1 && priorities.lowest >= priorities.highest }

    init(for db: Database, shard: Shard?, sealingWith seal: CredentialSeal) throws {
        (self.shard, self.seal, self.db) = (shard, seal, db)
        summary.unusedSplits = Set(shard?.splits.map(\.host) ?? [])
        insertEntry = try db.prepared(
            """
            INSERT INTO entries (manifest, position, icon, name, key, url, credentials, origin,
                priority, digest, size)
            VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
            """)
    }

    mutating func add(_ item: ManifestItem, of manifest: Int) throws {
        if let shard {
            var host: String?
            if case .entry(let entry) = item.result { host = entry.icon.host }
            if let host { summary.unusedSplits.remove(host.withoutFinalDot) }
            let isOwn = item.resourceKey.map { shard.owns(host: host, key: $0) }
            guard isOwn ?? shard.ownsProblems else { return summary.otherShards += 1 }
        }
        lastID += 1
        if item.icon == 1 { summary.entries += 1 }
        summary.icons += 1
        func addProblem(_ code: String?, _ message: String) throws {
            try db.prepared(
                """
                INSERT INTO entries (manifest, position, icon, name, code, message)
                VALUES (?, ?, ?, ?, ?, ?)
                """
            ).run(manifest, item.position, item.icon, item.name, code, message)
        }
        switch item.result {
        case .entry(let entry):
            if entry.icon.scheme == .http { summary.insecure += 1 }
            if last?.url.hasOrigin(of: entry.icon) != true {
                last = (entry.icon, origins.number(of: entry.icon.origin))
            }
            let (url, key) = (entry.icon.string, entry.resourceKey)
            try insert(
                item, of: manifest, entry.name, key, url: url.isSame(as: key) ? nil : url,
                credentials: entry.icon.credentials.map(seal.seal), last?.number, entry.priority)
            if let spelling = entry.writtenSpelling {
                try db.prepared("INSERT INTO spellings VALUES (?, ?)").run(lastID, spelling)
            }
        case .inline(let entry):
            let (key, origin) = (entry.resourceKey, origins.number(of: ""))
            try insert(item, of: manifest, entry.name, key, origin, entry.priority)
            try db.prepared("INSERT OR IGNORE INTO inline VALUES (?, ?, ?)")
                .run(lastID, key, Data(entry.bytes))
        case .skipped(let reason):
            summary.skipped += 1
            try addProblem(nil, reason)
        case .unfetched(let kind):
            summary.skipped += 1
            summary.unfetched[kind.rawValue, default: 0] += 1
            try addProblem(kind.rawValue, item.value?.reason ?? "not fetched")
            if let files = item.value?.files, let first = files.first {
                try db.prepared("INSERT INTO files VALUES (?, ?, ?)")
                    .run(lastID, first, files.dropFirst().first)
            }
        case .failed(let error):
            summary.failed += 1
            let place = item.line.map { "line \($0): " } ?? ""
            try addProblem(error.code.rawValue, place + error.message)
        }
    }

    func add(_ value: IconValue, at position: Int, of manifest: Int) throws {
        try db.prepared("INSERT INTO icon_values VALUES (NULL, ?, ?, ?, ?, ?)")
            .run(manifest, position, value.kind.rawValue, value.shownText, value.span.lowerBound)
    }

    mutating func add(_ manifest: ManifestSummary) {
        summary.manifests.append(manifest)
        if shard?.ownsProblems ?? true { summary.unread += manifest.unread }
    }

    private mutating func insert(
        _ item: ManifestItem, of manifest: Int, _ name: String, _ key: String, url: String? = nil,
        credentials: Data? = nil, _ origin: Int?, _ priority: Int
    ) throws {
        priorities = (min(priorities.lowest, priority), max(priorities.highest, priority))
        let expectation = item.result.expectation
        try insertEntry.run {
            $0.bind(manifest)
            $0.bind(item.position)
            $0.bind(item.icon)
            $0.bind(name)
            $0.bind(key)
            $0.bind(url)
            $0.bind(credentials)
            $0.bind(origin)
            $0.bind(priority)
            $0.bind(expectation.digest)
            $0.bind(expectation.size)
        }
    }
}

struct OriginNames {
    private(set) var all: [String] = []
    private var numbers: [String: Int] = [:]

    init(_ planned: [String]) { for origin in planned { _ = number(of: origin) } }

    mutating func number(of origin: String) -> Int {
        if let known = numbers[origin] { return known }
        let number = numbers.count
        numbers[origin] = number
        all.append(origin)
        return number
    }

    subscript(number: Int) -> String { all[number] }
}
