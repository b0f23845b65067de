import Foundation
import LarderCore

/// Interrupted response bodies in `tmp/partial/`, named by the digests of their URLs. A run moves a
/// body to its own directory, so that two processes never write to the same file.
package final class PartialBodies: Sendable {
    private let temporary: FileDescriptor
    let run: RunDirectory
    /// The names of existing files, so that URLs without a file need no system call.
    private let names: Locked<Set<String>>

    init(in directory: CacheDirectory, run: RunDirectory) throws(CacheError) {
        temporary = try directory.root.directory(CacheLayout.temporary, create: true)
        self.run = run
        var names: Set<String> = []
        if let partial = try? temporary.directory(CacheLayout.partial) {
            for name in (try? partial.names()) ?? [] {
                let status = try? partial.status(of: name)
                let isOld = status.map { $0.modified.tv_sec < time(nil) - 7 * 86_400 } ?? false
                if isOld { unlinkat(partial.raw, name, 0) } else { names.insert(name) }
            }
        }
        self.names = Locked(names)
    }

    package func has(_ url: String) -> Bool {
        names.withLock { !$0.isEmpty && $0.contains(url.sha256Hex) }
    }

    package func take(_ url: String) -> PartialBody? {
        guard names.withLock({ !$0.isEmpty }) else { return nil }
        let name = url.sha256Hex
        guard names.withLock({ $0.remove(name) }) != nil,
            let partial = try? temporary.directory(CacheLayout.partial)
        else { return nil }
        let claimed = run.uniqueName()
        guard renameat(partial.raw, name, run.directory.raw, claimed) == 0 else {
            unlinkat(partial.raw, name, 0)
            return nil
        }
        // The file is written and read, so it must have no other hard link and not be sparse.
        guard let file = try? run.directory.open(claimed, flags: O_RDWR | O_NONBLOCK),
            let status = try? file.status(), status.isRegularFile, status.st_nlink == 1,
            status.st_size <= status.plausibleBytes,
            let trailer = PartialTrailer.read(from: file),
            let hasher = Self.digest(of: file, trailer)
        else {
            run.remove(claimed)
            return nil
        }
        return PartialBody(trailer, in: self, name: name, hasher: hasher, claim: (claimed, file))
    }

    /// Keeps an interrupted body in a file for a later run. The body cannot be used afterwards.
    package func keep(
        _ body: StagedBody, of url: String, validator: String, fields: Validators,
        totalBytes: Int64?
    ) {
        let count = body.count
        guard let (file, digest) = try? body.takeUnfinished() else { return }
        let trailer = PartialTrailer(
            validator: validator, fields: fields, count: count, totalBytes: totalBytes,
            digest: digest.hex)
        guard let bytes = trailer.bytes, (try? file.descriptor.write(bytes)) != nil else {
            return run.remove(file.name)
        }
        put(file.name, back: url.sha256Hex)
    }

    func put(_ file: String, back name: String) {
        guard let partial = try? temporary.directory(CacheLayout.partial, create: true),
            renameat(run.directory.raw, file, partial.raw, name) == 0
        else { return run.remove(file) }
        names.withLock { _ = $0.insert(name) }
    }

    func close() { unlinkat(temporary.raw, CacheLayout.partial, AT_REMOVEDIR) }

    private static func digest(of file: FileDescriptor, _ trailer: PartialTrailer) -> RunningDigest?
    {
        var hasher = RunningDigest()
        var left = Int(trailer.count)
        while left > 0 {
            guard let bytes = try? file.read(atMost: min(left, 1 << 20)), !bytes.isEmpty
            else { return nil }
            hasher.update(bytes)
            left -= bytes.count
        }
        return hasher.digest.hex == trailer.digest ? hasher : nil
    }
}

/// A claimed partial body, removed unless it is resumed or put back.
package final class PartialBody: Sendable {
    package let trailer: PartialTrailer
    private let bodies: PartialBodies
    private let name: String
    private let hasher: RunningDigest
    private let claim: Locked<RunFile?>

    init(
        _ trailer: PartialTrailer, in bodies: PartialBodies, name: String, hasher: RunningDigest,
        claim: RunFile
    ) {
        (self.trailer, self.bodies, self.name, self.hasher) = (trailer, bodies, name, hasher)
        self.claim = Locked(claim)
    }

    var run: RunDirectory { bodies.run }

    deinit { if let claim = claim.withLock({ $0.take() }) { run.remove(claim.name) } }

    package func putBack() {
        if let claim = claim.withLock({ $0.take() }) { bodies.put(claim.name, back: name) }
    }

    func handOver() throws(CacheError) -> (file: RunFile?, hasher: RunningDigest) {
        guard let claim = claim.withLock({ $0.take() }) else {
            throw CacheError(unusable: name, "the partial body is in use")
        }
        guard ftruncate(claim.descriptor.raw, off_t(trailer.count)) == 0,
            lseek(claim.descriptor.raw, 0, SEEK_END) == off_t(trailer.count)
        else { throw claim.descriptor.failure("truncate") }
        return (claim, hasher)
    }
}

package struct PartialTrailer: Codable, Sendable {
    /// The strong ETag or date of the resource's version.
    package let validator: String
    /// The first response's fields, which a 206 may omit (RFC 9110, section 15.3.7).
    package let fields: Validators
    package let count: Int64
    package let totalBytes: Int64?
    /// The digest of the body. The file is not synced, so a power cut can damage it.
    let digest: String

    /// The size in bytes of the JSON at the end of the file, including the spaces that pad it.
    private static let size = 16 << 10

    var bytes: [UInt8]? {
        guard let json = try? JSONEncoder().encode(self), json.count <= Self.size
        else { return nil }
        return Array(json) + Array(repeating: UInt8(ascii: " "), count: Self.size - json.count)
    }

    static func read(from file: FileDescriptor) -> PartialTrailer? {
        guard let start = (try? file.status()).map({ Int64($0.st_size) - Int64(size) }), start >= 0,
            let json = try? file.read(at: start, atMost: size),
            let trailer = try? JSONDecoder().decode(PartialTrailer.self, from: Data(json)),
            trailer.count == start
        else { return nil }
        return trailer
    }
}
