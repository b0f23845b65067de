import Foundation
import LarderCache
import LarderCore
import LarderTestSupport

/// The parts shared by the scenes: a job, base caches, and the copy in which commands are killed.
struct KillStage {
    let directory: TemporaryDirectory
    let binary: LarderBinary
    let job: KillJob
    /// Kills at a call. Nil if this system does not support it.
    private let shim: FaultShim?

    init(in directory: TemporaryDirectory, entries: Int) throws {
        self.directory = directory
        binary = try LarderBinary()
        job = try KillJob(entries: entries)
        shim = FaultShim.isPossible ? try FaultShim(in: directory) : nil
        try job.writeManifest(to: manifest)
    }

    /// The cache in which commands are killed.
    var cache: String { directory.path("cache") }

    /// The manifest of the whole job.
    var manifest: String { directory.path("all.json") }

    /// Starts a round with a copy of a base cache.
    ///
    /// - Parameters:
    ///   - base: The name of the base cache, or nil to start without a cache.
    ///   - wave: See ``KillJob/begin(wave:)``.
    func restore(_ base: String?, wave: Int? = nil) throws {
        try FileManager.default.removeTree(atPath: cache)
        if let base {
            try FileManager.default.copyItem(atPath: directory.path(base), toPath: cache)
        }
        job.begin(wave: wave)
    }

    /// Fills the base cache `base` with the whole job, or with the entries of `manifest`.
    func fill(_ base: String, from manifest: String? = nil) throws {
        try run(prefetch(manifest ?? self.manifest), in: directory.path(base))
    }

    func prefetch(_ manifest: String) -> [String] {
        ["prefetch", manifest, "--allow-private-network", "--quiet"]
    }

    // MARK: Running and killing

    func start(
        _ arguments: [String], environment: [String: String] = [:]
    ) throws -> RunningProcess {
        try binary.start(arguments + ["--cache", cache], environment: environment)
    }

    /// Runs a command to its end, and expects an exit status.
    @discardableResult
    func run(
        _ arguments: [String], in cache: String? = nil, status: Int32 = 0,
        environment: [String: String] = [:]
    ) throws -> Finished {
        let finished = try binary.run(
            arguments + ["--cache", cache ?? self.cache], environment: environment)
        guard finished.status == status else {
            throw BrokenPromise("\(arguments.joined(separator: " ")): \(finished)")
        }
        return finished
    }

    /// Runs a command to its end. Returns its duration in seconds and its number of calls that
    /// change the cache, or nil if calls cannot be counted on this system.
    func measure(_ arguments: [String]) throws -> (life: Double, calls: Int?) {
        guard let shim else { return (try run(arguments).duration / .seconds(1), nil) }
        // If the library does not kill, the test proves nothing.
        guard try !kill(arguments, at: .call(1)) else {
            throw BrokenPromise("\(arguments[0]) was not killed instead of its first change")
        }
        let log = directory.path("calls")
        defer { try? FileManager.default.removeItem(atPath: log) }
        let finished = try run(arguments, environment: shim.counting(below: cache, log: log))
        let lines = try String(contentsOfFile: log, encoding: .utf8)
        return (finished.duration / .seconds(1), lines.count { $0 == "\n" })
    }

    /// Starts a command and kills it. Returns whether it had already ended, with one of `statuses`.
    func kill(
        _ arguments: [String], at moment: KillMoment, statuses: Set<Int32> = [0]
    ) throws -> Bool {
        var environment: [String: String] = [:]
        if case .call(let number) = moment, let shim {
            environment = shim.killing(at: number, below: cache)
        }
        let process = try start(arguments, environment: environment)
        @Sendable func kill(after seconds: Double) {
            DispatchQueue.global().asyncAfter(deadline: .now() + seconds) { process.kill(SIGKILL) }
        }
        switch moment {
        case .call: break
        case .elapsed(let seconds): kill(after: seconds)
        case .requests(let count, let seconds): job.script.at(count) { kill(after: seconds) }
        }
        let finished = try process.wait()
        guard finished.status == -SIGKILL || statuses.contains(finished.status) else {
            throw BrokenPromise("\(arguments.joined(separator: " ")): \(finished)")
        }
        return finished.status != -SIGKILL
    }

    // MARK: Checks

    /// Whether a run holds the lock of its directory in `tmp/`.
    func isRunInProgress() throws -> Bool {
        try FileManager.default.contentsOfDirectory(atPath: path("tmp")).contains { name in
            guard name.hasPrefix("run-") else { return false }
            let run = open(path("tmp/\(name)"), O_RDONLY | O_DIRECTORY)
            guard run >= 0 else { return false }
            defer { close(run) }
            return flock(run, LOCK_EX | LOCK_NB) != 0
        }
    }

    func path(_ name: String) -> String { "\(cache)/\(name)" }

    func objectPath(_ digest: Digest) -> String {
        path("objects/sha256/\(digest.hex.prefix(2))/\(digest.hex)")
    }

    /// Writes bytes to the path of an object with this digest.
    func plant(_ bytes: [UInt8], as digest: Digest) throws {
        let path = objectPath(digest)
        try FileManager.default.createDirectory(
            atPath: (path as NSString).deletingLastPathComponent, withIntermediateDirectories: true)
        unlink(path)
        try Data(bytes).write(to: URL(fileURLWithPath: path))
        chmod(path, 0o444)
    }

    func digest(of bytes: [UInt8]) throws -> Digest {
        guard let digest = Digest(bytes: ReferenceSHA256.digest(bytes)) else {
            throw BrokenPromise("no digest")
        }
        return digest
    }

    func pins(_ cache: Cache) throws -> Set<String> {
        var pins: Set<String> = []
        try cache.forEachPin { pins.insert($0) }
        return pins
    }

    /// Expects no findings, no leftovers, and index totals that match the files.
    func expectCleanCache(_ cache: Cache) throws {
        let report = try cache.verify()
        guard report.findings.isEmpty, report.temporaries == 0,
            report.indexObjects == report.treeObjects, report.indexBytes == report.treeBytes
        else { throw BrokenPromise("in the end: \(report)") }
        let left = try FileManager.default.contentsOfDirectory(atPath: path("tmp"))
        guard Set(left).isSubset(of: ["partial"]) else { throw BrokenPromise("in tmp/: \(left)") }
    }
}
