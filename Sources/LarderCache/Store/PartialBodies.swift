import Foundation
import LarderCore

/// Interrupted bodies in `tmp/partial/`, named by the digests of their URLs, each with a trailer. A
/// run takes one by moving it, so that two processes never write to the same.
package final class PartialBodies: Sendable {
    private let temporary: FileDescriptor
    private let run: RunDirectory
    /// What is there as far as this run knows, so that a URL without one costs no system call.
    private let names: Locked<Set<String>>

    init(in directory: CacheDirectory, run: RunDirectory) throws(CacheError) {
        temporary = try directory.root.directory(CacheLayout.temporary, create: true)
        self.run = run
        var names: Set<String> = []
        if let partial = try? temporary.directory(CacheLayout.partial) {
            for name in (try? partial.names()) ?? [] {
                // If nobody came back for it in a week, its URL may not be asked for any more.
                if let status = try? partial.status(of: name),
                    status.modified.tv_sec < time(nil) - 7 * 86_400
                {
                    unlinkat(partial.raw, name, 0)
                } else {
                    names.insert(name)
                }
            }
        }
        self.names = Locked(names)
    }

    /// Whether there is a beginning of a URL's body, as far as this run knows.
    package func has(_ url: String) -> Bool {
        guard names.withLock({ !$0.isEmpty }) else { return false }
        let name = Self.name(of: url)
        return names.withLock { $0.contains(name) }
    }

    /// Claims the whole beginning of a URL's body until it is put back. Reads all of it.
    package func take(_ url: String) -> PartialBody? {
        guard names.withLock({ !$0.isEmpty }) else { return nil }
        let name = Self.name(of: url)
        guard names.withLock({ $0.remove(name) }) != nil,
            let partial = try? open(create: false)
        else { return nil }
        let claimed = run.uniqueName()
        guard renameat(partial.raw, name, run.directory.raw, claimed) == 0 else {
            // The URL is fetched from its beginning, and nobody would come back for this one.
            unlinkat(partial.raw, name, 0)
            return nil
        }
        guard
            let file = try? run.directory.open(claimed, flags: O_RDWR | O_NONBLOCK),
            // It will be written to: somebody may have it under another name, too.
            let status = try? file.status(),
            status.isRegularFile, status.st_nlink == 1,
            // Its trailer may state the length of a hole.
            status.st_size <= status.plausibleBytes,
            let trailer = PartialTrailer(of: file),
            let hasher = Self.digest(of: file, trailer)
        else {
            run.remove(claimed)
            return nil
        }
        return PartialBody(trailer, in: self, name: name, hasher: hasher, claim: (claimed, file))
    }

    /// Keeps the received part of a body if it is longer than ``StagedBody/memoryLimit``, with the
    /// strong ETag or date that tells its version. The body cannot be used afterwards.
    package func keep(
        _ body: StagedBody, of url: String, validator: String, fields: Validators,
        totalBytes: Int64?
    ) {
        let count = body.count
        guard let (file, descriptor, digest) = try? body.takeUnfinished() else { return }
        let trailer = PartialTrailer(
            validator: validator, fields: fields, count: count, totalBytes: totalBytes,
            digest: digest.hex)
        guard let bytes = trailer.bytes, (try? descriptor.write(bytes)) != nil else {
            return run.remove(file)
        }
        put(file, back: Self.name(of: url))
    }

    func put(_ file: String, back name: String) {
        guard let partial = try? open(create: true),
            renameat(run.directory.raw, file, partial.raw, name) == 0
        else { return run.remove(file) }
        names.withLock { _ = $0.insert(name) }
    }

    func discard(_ file: String) { run.remove(file) }

    /// Removes the directory if nothing is in it; whoever wants to keep a body makes it again.
    func close() { unlinkat(temporary.raw, CacheLayout.partial, AT_REMOVEDIR) }

    private func open(create: Bool) throws(CacheError) -> FileDescriptor {
        try temporary.directory(CacheLayout.partial, create: create)
    }

    /// A URL may be longer than a file's name, and hold what should not stand in one.
    private static func name(of url: String) -> String { Digest(of: Data(url.utf8)).hex }

    /// The state after the last byte; nil if the bytes are not those that were received.
    private static func digest(of file: FileDescriptor, _ trailer: PartialTrailer) -> RunningDigest?
    {
        var hasher = RunningDigest()
        var left = Int(trailer.count)
        var buffer = [UInt8](repeating: 0, count: min(max(left, 1), 1 << 20))
        while left > 0 {
            let count = buffer.withUnsafeMutableBytes { bytes in
                let part = UnsafeMutableRawBufferPointer(rebasing: bytes[..<min(left, bytes.count)])
                return (try? file.read(into: part)) ?? 0
            }
            guard count > 0 else { return nil }
            hasher.update(buffer[..<count])
            left -= count
        }
        return hasher.digest.hex == trailer.digest ? hasher : nil
    }
}

/// The beginning of a body, claimed by one transfer that may continue it; removed unless put back.
package final class PartialBody: Sendable {
    /// Says which version of the resource the bytes are of: a strong ETag, or a date.
    package let validator: String
    /// The fields of its response, which that of the rest may omit (RFC 9110, section 15.3.7).
    package let fields: Validators
    package let count: Int64
    package let totalBytes: Int64?

    private let bodies: PartialBodies
    private let name: String
    private let hasher: RunningDigest
    private let claim: Locked<RunFile?>

    init(
        _ trailer: PartialTrailer, in bodies: PartialBodies, name: String, hasher: RunningDigest,
        claim: RunFile
    ) {
        validator = trailer.validator
        fields = trailer.fields
        count = trailer.count
        totalBytes = trailer.totalBytes
        self.bodies = bodies
        self.name = name
        self.hasher = hasher
        self.claim = Locked(claim)
    }

    deinit {
        if let claim = take() { bodies.discard(claim.name) }
    }

    package func putBack() {
        if let claim = take() { bodies.put(claim.name, back: name) }
    }

    /// Gives its file away, without the trailer, and the digest's state after the last byte.
    func handOver() throws(CacheError) -> (file: RunFile?, hasher: RunningDigest) {
        guard let claim = take() else {
            throw CacheError(.unusable, subject: name, message: "the partial body is in use")
        }
        guard ftruncate(claim.descriptor.raw, off_t(count)) == 0,
            lseek(claim.descriptor.raw, 0, SEEK_END) == off_t(count)
        else { throw claim.descriptor.failure("truncate") }
        return (claim, hasher)
    }

    private func take() -> RunFile? {
        claim.withLock { claim in
            defer { claim = nil }
            return claim
        }
    }
}

/// What stands behind the bytes in a partial body's file.
struct PartialTrailer: Codable {
    let validator: String
    let fields: Validators
    let count: Int64
    let totalBytes: Int64?
    /// SHA-256 of the bytes, in hexadecimal: a power cut may damage a file that was never synced.
    let digest: String

    /// The last bytes of every such file, after four that give the length of what precedes them.
    private static let mark = Array("larderpb".utf8)
    private static let longest = 16 << 10

    var bytes: [UInt8]? {
        guard let json = try? JSONEncoder().encode(self), json.count <= Self.longest
        else { return nil }
        let length = UInt32(json.count).bigEndian
        return Array(json) + withUnsafeBytes(of: length, Array.init) + Self.mark
    }

    private static func read(_ file: FileDescriptor, at offset: off_t, count: Int) -> [UInt8]? {
        guard offset >= 0 else { return nil }
        let bytes = try? file.read(at: Int64(offset), atMost: count)
        return bytes?.count == count ? bytes : nil
    }
}

extension PartialTrailer {
    init?(of file: FileDescriptor) {
        guard let size = try? file.status().st_size,
            let end = Self.read(file, at: size - 12, count: 12), end.suffix(8) == Self.mark[...]
        else { return nil }
        let length = end.prefix(4).reduce(0) { $0 << 8 | Int($1) }
        guard length <= Self.longest,
            let json = Self.read(file, at: size - 12 - off_t(length), count: length),
            let trailer = try? JSONDecoder().decode(PartialTrailer.self, from: Data(json)),
            trailer.count == Int64(size) - 12 - Int64(length)
        else { return nil }
        self = trailer
    }
}
