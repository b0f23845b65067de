import Foundation
import LarderCache
import LarderTestSupport
import Synchronization

/// Everybody who uses one cache at once, each over and over again until the time is up.
final class Crowd: Sendable {
    typealias Command = @Sendable (inout Pseudorandom) throws -> Void

    private struct State {
        var counts: [String: Int] = [:]
        var complaints: [String] = []
    }

    let larder: CLIFixture
    let icons: CrowdOrigin
    private let end: ContinuousClock.Instant
    /// On a busy machine, until then if nothing was evicted yet.
    private let lastEnd: ContinuousClock.Instant
    private let state = Mutex(State())

    init(_ larder: CLIFixture, seconds: Int) throws {
        self.larder = larder
        icons = try CrowdOrigin(kept: 40, changing: 300)
        end = .now + .seconds(seconds)
        lastEnd = end + .seconds(600)
    }

    /// What did not go as promised.
    var complaints: [String] { state.withLock { $0.complaints } }

    /// How often what was done.
    var counts: [String: Int] { state.withLock { $0.counts } }

    func count(_ what: String, _ count: Int = 1) {
        state.withLock { $0.counts[what, default: 0] += count }
    }

    private func complain(_ complaint: String) {
        state.withLock { $0.complaints.append(complaint) }
    }

    private var isOver: Bool {
        let now = ContinuousClock.now
        return now >= lastEnd || now >= end && counts["evicted", default: 0] > 0
    }

    /// Runs a member over and over again, on a thread of its own; one that fails goes on.
    func run(_ name: String, seed: Int, _ command: @escaping Command) async throws {
        try await onThreadOfItsOwn { [self] in
            var random = Pseudorandom(seed: seed)
            while !isOver {
                do {
                    try command(&random)
                    count(name)
                } catch {
                    complain("\(name): \(error)")
                }
            }
        }
    }

    /// Runs a command that is to end with one of some statuses.
    private func run(_ arguments: [String], statuses: Set<Int32> = [0]) throws -> Finished {
        let finished = try larder.binary.run(arguments + ["--cache", larder.cache])
        guard statuses.contains(finished.status) else {
            throw BrokenPromise("\(arguments.joined(separator: " ")): \(finished)")
        }
        return finished
    }

    // MARK: - Members

    /// Prefetches what is kept and some of what changes; what is kept is there afterwards.
    func prefetch(member: Int) throws -> Command {
        let manifest = larder.directory.path("prefetch-\(member).json")
        let report = larder.directory.path("prefetch-\(member).jsonl")
        let reader = try Cache.open(at: larder.cache)
        return { [self] random in
            let urls = icons.changing.filter { _ in random.next(below: 4) == 0 } + icons.kept
            _ = try larder.manifest(
                urls: urls.shuffled(using: &random), name: "prefetch-\(member).json")
            var arguments = larder.prefetchArguments([manifest], report: report)
            if random.next(below: 3) == 0 { arguments += ["--revalidate", "always"] }
            let finished = try larder.binary.run(arguments)
            guard finished.status == 0 else {
                let lines = try String(contentsOfFile: report, encoding: .utf8).split(
                    separator: "\n")
                let failed = lines.filter { $0.contains(#""outcome":"failed""#) }
                throw BrokenPromise("\(failed.prefix(3)): \(finished)")
            }
            for url in icons.kept {
                guard let resource = try reader.resource(url),
                    icons.hasServed(try reader.bytes(of: resource.object), at: url)
                else { throw BrokenPromise("\(url) is lost") }
            }
        }
    }

    /// Never a false alarm.
    func verify(_ random: inout Pseudorandom) throws {
        _ = try run(["verify", "--json"] + (random.next(below: 4) == 0 ? ["--quick"] : []))
    }

    /// Takes something every time; half of what is kept is pinned, the other half named.
    func evict(keeping manifest: String) -> Command {
        { [self] random in
            var arguments = ["evict", "--json", "--keep", manifest]
            arguments += ["--max-count", "\(60 + random.next(below: 120))"]
            if random.next(below: 3) == 0 { arguments += ["--grace", "0"] }
            // Where runs under way hold too much, the limit is out of reach.
            let finished = try run(arguments, statuses: [0, 2])
            let report = try JSONValue.lines(finished.standardOutputBytes)[0]
            if case .integer(let evicted) = report["evicted_objects"] { count("evicted", evicted) }
        }
    }

    func status(_ random: inout Pseudorandom) throws { _ = try run(["status", "--json"]) }

    /// What is listed is read with the right bytes, or was evicted meanwhile.
    func look(_ random: inout Pseudorandom) throws {
        let rows = try JSONValue.lines(run(["list", "--json"]).standardOutputBytes)
        guard let url = rows.randomElement(using: &random)?["url"]?.string else { return }
        let cat = try run(["cat", url], statuses: [0, 2])
        if cat.status == 2 {
            guard cat.standardError.contains("not cached") || cat.standardError.contains("evicted")
            else { throw BrokenPromise("cat \(url): \(cat)") }
        } else if !icons.hasServed(Array(cat.standardOutputBytes), at: url) {
            throw BrokenPromise("cat \(url): not what its origin serves")
        }
        let path = try run(["path", url], statuses: [0, 2])
        let file = path.standardOutput.trimmingCharacters(in: .newlines)
        // Who has the path only may find the file gone.
        if path.status == 0, let bytes = FileManager.default.contents(atPath: file),
            !icons.hasServed(Array(bytes), at: url)
        {
            throw BrokenPromise("path \(url): not what its origin serves")
        }
    }

    /// Reads everything through the library, in one cache that stays open.
    func read() throws -> Command {
        let cache = try Cache.open(at: larder.cache)
        return { [self] _ in
            try cache.forEachResource { resource in
                do {
                    guard icons.hasServed(try cache.bytes(of: resource.object), at: resource.url)
                    else { throw BrokenPromise("\(resource.url): not what its origin serves") }
                    count("bytes(of:)")
                } catch let error as CacheError where error.message.contains("evicted") {
                    count("evicted before it was read")
                }
            }
        }
    }
}
