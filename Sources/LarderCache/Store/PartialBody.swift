import Crypto
import Foundation

/// The beginning of a body whose transfer was interrupted, claimed by one transfer that may go on
/// with it; removed unless it is put back.
package final class PartialBody: @unchecked Sendable {
    // Unchecked because `claim` is a variable; every access holds `lock`.

    /// Says which version of the resource the bytes are of: a strong ETag, or a date.
    package let validator: String
    /// What its response said beside; that of the rest need not repeat it (RFC 9110, section
    /// 15.3.7).
    package let fields: Validators
    /// How many bytes there are.
    package let count: Int64
    /// How many the whole body has, if it was said.
    package let totalBytes: Int64?

    private let bodies: PartialBodies
    private let name: String
    private let hasher: SHA256
    private let lock = NSLock()
    private var claim: (name: String, descriptor: FileDescriptor)?

    init(
        _ trailer: PartialTrailer, in bodies: PartialBodies, name: String, hasher: SHA256,
        claim: (name: String, descriptor: FileDescriptor)
    ) {
        validator = trailer.validator
        fields = trailer.fields
        count = trailer.count
        totalBytes = trailer.totalBytes
        self.bodies = bodies
        self.name = name
        self.hasher = hasher
        self.claim = claim
    }

    deinit {
        if let claim { bodies.discard(claim.name) }
    }

    /// Leaves it for another attempt, as it was.
    package func putBack() {
        guard let claim = lock.withLock({ take() }) else { return }
        bodies.put(claim.name, back: name)
    }

    /// Gives its file away, without the trailer, and the digest's state after the last byte.
    func handOver() throws(CacheError) -> (
        file: (name: String, descriptor: FileDescriptor)?, hasher: SHA256
    ) {
        guard let claim = lock.withLock({ take() }) else {
            throw CacheError(.unusable, subject: name, message: "the partial body is in use")
        }
        guard ftruncate(claim.descriptor.raw, off_t(count)) == 0,
            lseek(claim.descriptor.raw, 0, SEEK_END) == off_t(count)
        else {
            throw CacheError("truncate", subject: claim.descriptor.subject, errno: errno)
        }
        return (claim, hasher)
    }

    private func take() -> (name: String, descriptor: FileDescriptor)? {
        defer { claim = nil }
        return claim
    }
}
