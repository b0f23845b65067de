import Foundation
import LarderCache
import LarderTestSupport
import Synchronization

/// Commands and readers that use one cache at once, each in a loop until the time is up.
final class Crowd: Sendable {
    typealias Command = @Sendable (inout Pseudorandom) throws -> Void

    private struct State {
        var counts: [String: Int] = [:]
        var failures: [String] = []
    }

    let larder: CLIFixture
    let icons: CrowdOrigin
    private let end: ContinuousClock.Instant
    /// The end if nothing was evicted before, as on a busy machine.
    private let lastEnd: ContinuousClock.Instant
    private let state = Mutex(State())

    init(_ larder: CLIFixture, seconds: Int) throws {
        self.larder = larder
        icons = try CrowdOrigin(kept: 40, changing: 300)
        end = .now + .seconds(seconds)
        lastEnd = end + .seconds(600)
    }

    var failures: [String] { state.withLock { $0.failures } }

    var counts: [String: Int] { state.withLock { $0.counts } }

    func count(_ action: String, _ count: Int = 1) {
        state.withLock { $0.counts[action, default: 0] += count }
    }

    private func recordFailure(_ failure: String) {
        state.withLock { $0.failures.append(failure) }
    }

    private var isOver: Bool {
        let now = ContinuousClock.now
        return now >= lastEnd || now >= end && counts["evicted", default: 0] > 0
    }

    /// Runs a member in a loop on its own thread. The loop continues after a failure.
    func run(_ name: String, seed: Int, _ command: @escaping Command) async throws {
        try await onThreadOfItsOwn { [self] in
            var random = Pseudorandom(seed: seed)
            while !isOver {
                do {
                    try command(&random)
                    count(name)
                } catch {
                    recordFailure("\(name): \(error)")
                }
            }
        }
    }

    /// Runs a command that must exit with one of `statuses`.
    private func run(_ arguments: [String], statuses: Set<Int32> = [0]) throws -> Finished {
        let finished = try larder.binary.run(arguments + ["--cache", larder.cache])
        guard statuses.contains(finished.status) else {
            throw BrokenPromise("\(arguments.joined(separator: " ")): \(finished)")
        }
        return finished
    }

    // MARK: - Members

    /// Prefetches the kept icons and some changing ones. The kept icons must then be in the cache.
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

    /// Verifies the cache. There must be no finding.
    func verify(_ random: inout Pseudorandom) throws {
        _ = try run(["verify", "--json"] + (random.next(below: 4) == 0 ? ["--quick"] : []))
    }

    /// Evicts down to a low limit. Of the kept icons, half are pinned and half are in `manifest`.
    func evict(keeping manifest: String) -> Command {
        { [self] random in
            var arguments = ["evict", "--json", "--keep", manifest]
            arguments += ["--max-count", "\(60 + random.next(below: 120))"]
            if random.next(below: 3) == 0 { arguments += ["--grace", "0"] }
            // The status is 2 if running prefetches protect too much to reach the limit.
            let finished = try run(arguments, statuses: [0, 2])
            let report = try JSONValue.lines(finished.standardOutputBytes)[0]
            if case .integer(let evicted) = report["evicted_objects"] { count("evicted", evicted) }
        }
    }

    func status(_ random: inout Pseudorandom) throws { _ = try run(["status", "--json"]) }

    /// Reads a listed icon. Its bytes must be right unless it was evicted since.
    func readListed(_ random: inout Pseudorandom) throws {
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
        // The file may be evicted after its path is printed.
        if path.status == 0, let bytes = FileManager.default.contents(atPath: file),
            !icons.hasServed(Array(bytes), at: url)
        {
            throw BrokenPromise("path \(url): not what its origin serves")
        }
    }

    /// Reads all icons through the library, with one open cache.
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
