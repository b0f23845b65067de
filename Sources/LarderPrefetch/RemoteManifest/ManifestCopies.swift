import Foundation
import LarderCache
import LarderCore
import LarderManifest
import Synchronization

/// Copies of downloaded manifests. The cache holds them as resources like any other, except that
/// they are not checked as images.
struct ManifestCopies: Sendable {
    /// Nil reads as an empty one.
    let cache: Cache?
    /// What takes new ones; nil if only the cache is asked, and not the network.
    var store: Store?
    /// Whether what its origin forbids to store is stored, too.
    var storesUnstorable = false
    /// Whether reading counts as use; otherwise nothing at all is changed.
    var notesUse = false

    /// The manifest of a URL, checked against its digest; nil if it is not there, or not whole.
    func kept(_ url: HTTPURL) throws -> Cache.KeptManifest? { try cache?.manifest(url) }

    /// The same without asking anybody else.
    ///
    /// - Throws: ``ManifestError`` `.missing`.
    func take(_ url: HTTPURL) throws -> OpenedManifest {
        guard let kept = try kept(url) else { throw ManifestError.notCached(url) }
        if notesUse { cache?.noteUse(of: kept.resource.object) }
        return OpenedManifest(descriptor: kept.file.descriptor, baseURL: kept.file.baseURL)
    }

    /// Keeps what was received, durably.
    ///
    /// - Parameter file: a descriptor, which stays where it stands.
    /// - Throws: `CacheError` if the disk is full or failing.
    func put(_ file: Int32, of response: ManifestResponse) throws {
        guard let store else { return }
        let body = try store.newBody { append in try read(file, of: response, append) }
        let digest = try body.finish()
        let staged = try store.stage(body, digest: digest, attributes: ObjectAttributes())
        let failure = record(response.deposit(.staged(staged)), in: store)
        // If something else is in its place, or it was evicted at once, the bytes are at hand all
        // the same.
        if let failure, ![.obstructed, .missing].contains(failure.code) { throw failure }
    }

    /// Notes that the server vouches for what is there. It does not matter if that cannot be
    /// written.
    func note(
        _ content: Deposit.Content, of kept: Cache.KeptManifest, by response: ManifestResponse
    ) {
        guard let store else { return }
        store.add(response.deposit(content, on: kept.resource), for: nil) {}
        store.flush()
    }

    private func read(
        _ file: Int32, of response: ManifestResponse,
        _ append: (UnsafeRawBufferPointer) throws -> Void
    ) throws {
        let buffer = UnsafeMutableRawBufferPointer.allocate(byteCount: 256 << 10, alignment: 16)
        defer { buffer.deallocate() }
        var offset = 0
        while true {
            let count = pread(file, buffer.baseAddress, buffer.count, off_t(offset))
            if count == 0 { return }
            if count < 0 {
                if errno == EINTR { continue }
                throw ManifestError.system(errno, "cannot read", source: "\(response.url)")
            }
            offset += count
            try append(UnsafeRawBufferPointer(rebasing: buffer[..<count]))
        }
    }

    private final class Result: Depositor {
        let failure = Mutex<CacheError?>(nil)

        func committed(_ outcomes: [Store.Outcome]) {
            guard case .failure(let error)? = outcomes.first?.result else { return }
            failure.withLock { $0 = error }
        }
    }

    private func record(_ deposit: Deposit, in store: Store) -> CacheError? {
        let result = Result()
        store.add(deposit, for: result) {}
        store.flush()
        return result.failure.withLock { $0 }
    }
}
