import Foundation
import LarderCache
import LarderTestSupport

/// What the scenes share: a job, caches that hold it, and a copy of one to be killed in.
struct KillStage {
    let directory: TemporaryDirectory
    let binary: LarderBinary
    let job: KillJob

    init(in directory: TemporaryDirectory, entries: Int) throws {
        self.directory = directory
        binary = try LarderBinary()
        job = try KillJob(entries: entries)
        try job.writeManifest(to: manifest)
    }

    /// Where the kills take place.
    var cache: String { directory.path("cache") }

    /// The manifest of the whole job.
    var manifest: String { directory.path("all.json") }

    /// Begins a round with a copy of `base`.
    func restore(_ base: String) throws {
        try FileManager.default.removeTree(atPath: cache)
        try FileManager.default.copyItem(atPath: directory.path(base), toPath: cache)
        job.begin()
    }

    /// Makes the cache `base` of the whole job, or of the manifest `manifest`.
    func fill(_ base: String, from manifest: String? = nil) throws {
        try run(prefetch(manifest ?? self.manifest), in: directory.path(base))
    }

    func prefetch(_ manifest: String) -> [String] {
        ["prefetch", manifest, "--allow-private-network", "--quiet"]
    }

    // MARK: Running and killing

    func start(_ arguments: [String]) throws -> RunningProcess {
        try binary.start(arguments + ["--cache", cache])
    }

    /// Runs a command to its end, which has to be this status.
    @discardableResult
    func run(_ arguments: [String], in cache: String? = nil, status: Int32 = 0) throws -> Finished {
        let finished = try binary.run(arguments + ["--cache", cache ?? self.cache])
        guard finished.status == status else {
            throw BrokenPromise("\(arguments.joined(separator: " ")): \(finished)")
        }
        return finished
    }

    /// Starts a command and kills it; returns whether it had ended by then, with one of `statuses`.
    func kill(
        _ arguments: [String], after seconds: Double, statuses: Set<Int32> = [0]
    ) throws -> Bool {
        let process = try start(arguments)
        DispatchQueue.global().asyncAfter(deadline: .now() + seconds) { process.kill(SIGKILL) }
        let finished = try process.wait()
        guard finished.status == -SIGKILL || statuses.contains(finished.status) else {
            throw BrokenPromise("\(arguments.joined(separator: " ")): \(finished)")
        }
        return finished.status != -SIGKILL
    }

    // MARK: Examination

    /// A file's path beneath the cache.
    func path(_ name: String) -> String { "\(cache)/\(name)" }

    /// Where an object belongs.
    func objectPath(_ digest: Digest) -> String {
        path("objects/sha256/\(digest.hex.prefix(2))/\(digest.hex)")
    }

    /// Puts bytes where an object of that digest belongs.
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

    /// What no run leaves behind: nothing is wrong, nothing is left over, and the index's totals are the
    /// disk's.
    func expectOrder(_ cache: Cache) throws {
        let report = try cache.verify()
        guard report.findings.isEmpty, report.temporaries == 0,
            report.indexObjects == report.treeObjects, report.indexBytes == report.treeBytes
        else { throw BrokenPromise("in the end: \(report)") }
        let left = try FileManager.default.contentsOfDirectory(atPath: path("tmp"))
        guard Set(left).isSubset(of: ["partial"]) else { throw BrokenPromise("in tmp/: \(left)") }
    }
}
