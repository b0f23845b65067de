import Foundation
import LarderCache
import LarderCore
import LarderTestSupport
import Synchronization

/// A prepared cache, a command that runs on it with a fault, and the checks of the result.
struct FaultScene {
    enum Outcome: Hashable {
        /// The command made fewer calls of this kind.
        case notReached
        case ended(status: Int32)
    }

    let command: FaultCommand
    private let larder: CLIFixture
    private let shim: FaultShim
    private let manifest: String
    /// The final bytes of each icon, by URL.
    private let icons: [String: [UInt8]]
    /// The URLs in the prepared index that no fault may lose.
    private let safe: Set<String>
    /// The digests of objects that are damaged in the prepared cache.
    private let damaged: Set<Digest>

    init(_ command: FaultCommand, in directory: TemporaryDirectory) throws {
        self.command = command
        larder = try CLIFixture(directory)
        shim = try FaultShim(in: directory)
        let origin = FaultOrigin(larder.origin)
        icons = origin.icons
        manifest = try larder.manifest(urls: origin.icons.keys.sorted())
        if command == .cold { origin.becomeGood() }
        guard command != .cold else {
            (safe, damaged) = ([], [])
            return
        }

        // Caches the first version of the changing icon, and a partial body.
        let begun = try larder.prefetch(manifest, options: ["--attempts", "1"])
        origin.becomeGood()
        guard begun.summary.failures == ["body-truncated": 1] else {
            throw BrokenPromise("\(begun.finished)")
        }
        var bad: Set<String> = []
        switch command {
        case .repair:
            let paths = try [origin.fresh, origin.stale].map(larder.objectPath)
            try larder.overwrite(paths[0], with: [0])
            try FileManager.default.removeItem(atPath: paths[1])
            chmod(try larder.objectPath(origin.changing), 0o644)
            bad = [origin.fresh, origin.stale]
        case .recovery: try FileManager.default.removeItem(atPath: larder.cache + "/index.sqlite")
        case .reindex:
            _ = try larder.write(Array(repeating: 7, count: 8192), to: "cache/index.sqlite")
        case .cold, .warm, .evict, .pin: break
        }
        let cached = Set([origin.fresh, origin.stale, origin.changing])
        safe = command == .evict ? [] : cached.subtracting(bad)
        damaged = Set(
            bad.compactMap { origin.icons[$0] }.compactMap { Digest(hex: ReferenceSHA256.hex($0)) })
        try FileManager.default.moveItem(atPath: larder.cache, toPath: directory.path("template"))
    }

    /// Runs the command with a fault, checks the cache, and completes the work with another run.
    func play(_ fault: Fault) throws -> Outcome {
        try prepare()
        let log = larder.directory.path("fault")
        try? FileManager.default.removeItem(atPath: log)
        let finished = try larder.binary.run(
            arguments, environment: fault.environment(shim, root: larder.cache, log: log))
        guard let place = try? String(contentsOfFile: log, encoding: .utf8) else {
            guard finished.status == 0 else { throw BrokenPromise("not reached: \(finished)") }
            return .notReached
        }
        var statuses = fault.statuses(at: place)
        if command.reportsUnreadable, fault.call == .open, place.contains("/objects/") {
            statuses.insert(2)
        }
        do {
            try examine(finished, statuses: statuses)
            try finish(hidesPartials: place.contains("/tmp/partial"))
        } catch {
            throw BrokenPromise("\(command), \(fault) at \(place.dropLast()): \(error)")
        }
        return .ended(status: finished.status)
    }

    /// Runs the command with a limit on open file descriptors.
    func play(descriptors: Int) throws -> Outcome {
        try prepare()
        let finished = try RunningProcess(
            "/bin/sh",
            ["-c", "ulimit -n \(descriptors); exec \"$0\" \"$@\"", larder.binary.path] + arguments
        ).wait()
        do {
            try examine(finished, statuses: [1])
            try finish(hidesPartials: true)
        } catch {
            throw BrokenPromise("\(command) with \(descriptors) descriptors: \(error)")
        }
        return .ended(status: finished.status)
    }

    /// Runs the command on a small disk, which is then enlarged for the next run.
    func play(kilobytes: Int) throws -> Outcome {
        // The report is removed too, because a run that cannot start does not overwrite it.
        for path in [larder.cache, report] { try FileManager.default.removeTree(atPath: path) }
        let disk = try Mount.memory(at: larder.cache, size: "\(kilobytes)k")
        defer { disk.remove() }
        let finished = try larder.binary.run(arguments)
        do {
            try disk.remount("size=20m")
            try examine(finished, statuses: [74])
            try finish(hidesPartials: false)
        } catch {
            throw BrokenPromise("\(command) with \(kilobytes) kB: \(error)")
        }
        return .ended(status: finished.status)
    }

    private func prepare() throws {
        for path in [larder.cache, report] { try FileManager.default.removeTree(atPath: path) }
        guard command != .cold else { return }
        try FileManager.default.copyItem(
            atPath: larder.directory.path("template"), toPath: larder.cache)
    }

    private func finish(hidesPartials: Bool) throws {
        let next = try larder.binary.run(arguments)
        guard next.status == 0 else { throw BrokenPromise("the next run: \(next)") }
        try checkGoal()
        if !command.isPrefetch {
            let prefetch = try larder.prefetch(manifest)
            guard prefetch.status == 0 else { throw BrokenPromise("\(prefetch.finished)") }
        }
        try checkEnd(hidesPartials: hidesPartials)
    }

    private var options: VerifyOptions {
        var options = VerifyOptions()
        options.selection = FaultOrigin.part
        return options
    }

    private var report: String { larder.directory.path("fault.jsonl") }

    private var arguments: [String] {
        let cache = ["--cache", larder.cache]
        return switch command {
        case .cold, .warm, .recovery: larder.prefetchArguments([manifest], report: report)
        case .repair: ["verify", "--repair", "--allow-private-network"] + cache
        case .evict: ["evict", "--max-count", "1", "--grace", "0"] + cache
        case .reindex: ["reindex"] + cache
        case .pin: ["pin", manifest] + cache
        }
    }

    /// Checks the exit status and the cache after a run with a fault.
    ///
    /// - Parameter statuses: The permitted exit statuses besides 0.
    private func examine(_ finished: Finished, statuses: Set<Int32>) throws {
        guard finished.status == 0 || statuses.contains(finished.status) else {
            throw BrokenPromise("not status \(statuses): \(finished)")
        }
        if finished.status == 0 { try checkGoal() }
        let stored = try KillReport(path: report).stored
        guard FileManager.default.fileExists(atPath: larder.cache) else { return }
        let cache = try Cache.openDamaged(at: larder.cache)
        defer { cache.close() }
        let verification = try cache.verify(options)
        let bad = verification.findings.filter { finding in
            finding.kind.isCorruption && !(finding.digest.map(damaged.contains) ?? false)
        }
        // A garbage or missing index is a finding until it is rebuilt.
        let rebuilds = [.reindex, .recovery].contains(command)
        guard bad.isEmpty || rebuilds && bad.allSatisfy({ $0.kind == .index }) else {
            throw BrokenPromise("verify: \(bad)")
        }
        let hasIndex = !rebuilds || finished.status == 0
        let kept = try rows(of: cache)
        let lost = stored.union(hasIndex ? safe : []).subtracting(kept)
        guard lost.isEmpty else { throw BrokenPromise("lost: \(lost), \(finished)") }
    }

    /// Returns the URLs in the index. Reads their objects, which must be undamaged.
    private func rows(of cache: Cache) throws -> Set<String> {
        var rows: Set<String> = []
        guard (try? cache.status()) != nil else { return [] }
        try cache.forEachResource { resource in
            guard !damaged.contains(resource.object.digest) else { return }
            _ = try cache.bytes(of: resource.object)
            rows.insert(resource.url)
        }
        return rows
    }

    /// Checks the effect of a command that exited with 0.
    private func checkGoal() throws {
        let cache = try Cache.open(at: larder.cache)
        defer { cache.close() }
        switch command {
        case .cold, .warm, .recovery: try checkIcons(of: cache)
        case .repair:
            let report = try cache.verify(options)
            guard report.isClean else { throw BrokenPromise("not repaired: \(report.findings)") }
        case .evict:
            let objects = try cache.status().totals.objects
            guard objects == 1 else { throw BrokenPromise("\(objects) objects are left") }
        case .reindex:
            let rows = try rows(of: cache)
            guard rows == safe else { throw BrokenPromise("in the index: \(rows)") }
        case .pin:
            var pins: Set<String> = []
            try cache.forEachPin { pins.insert($0) }
            guard pins == Set(icons.keys) else { throw BrokenPromise("pinned: \(pins)") }
        }
    }

    /// Checks the cache after a prefetch without a fault.
    ///
    /// - Parameter hidesPartials: Whether the fault may have hidden partial bodies. They then stay
    ///   until they expire.
    private func checkEnd(hidesPartials: Bool) throws {
        let cache = try Cache.open(at: larder.cache)
        defer { cache.close() }
        try checkIcons(of: cache)
        let left = try larder.temporaries()
        guard left.isEmpty || left == ["partial"] && hidesPartials else {
            throw BrokenPromise("left in tmp: \(left)")
        }
    }

    private func checkIcons(of cache: Cache) throws {
        for (url, bytes) in icons {
            guard let resource = try cache.resource(url) else {
                throw BrokenPromise("\(url) is not cached")
            }
            guard try cache.bytes(of: resource.object) == bytes else {
                throw BrokenPromise("\(url) has other bytes")
            }
        }
    }
}
