import Foundation
import LarderCache
import LarderCore
import LarderManifest
import Synchronization

/// Copies of downloaded manifests. The cache holds them like other resources, unchecked as images.
struct ManifestCopies: Sendable {
    /// Nil reads as empty.
    let cache: Cache?
    /// Stores new copies. If nil, only the cache is read, and not the network.
    var store: Store?
    var storesUnstorable = false
    /// Whether reading counts as use. If false, nothing is changed.
    var notesUse = false

    /// Returns the copy of a URL, checked against its digest, or nil if there is none.
    func kept(_ url: HTTPURL) throws -> Cache.KeptManifest? { try cache?.manifest(url) }

    func take(_ url: HTTPURL) throws -> OpenedManifest {
        guard let kept = try kept(url) else { throw ManifestError.notCached(url) }
        if notesUse { cache?.noteUse(of: kept.resource.object) }
        return OpenedManifest(descriptor: kept.file.descriptor, baseURL: kept.file.baseURL)
    }

    /// Stores a received manifest, durably.
    func put(_ file: Int32, of response: ManifestResponse) throws {
        guard let store else { return }
        let body = try store.newBody { append in try read(file, of: response, append) }
        let digest = try body.finish()
        let staged = try store.stage(body, digest: digest, attributes: ObjectAttributes())
        let result = Result()
        store.add(response.deposit(.staged(staged)), for: result)
        store.flush()
        // An obstructed or evicted copy does not matter: the bytes are in the file.
        if let failure = result.failure.withLock({ $0 }),
            ![.obstructed, .missing].contains(failure.code)
        {
            throw failure
        }
    }

    /// Records that the server confirmed a copy. A failure to write that is ignored.
    func note(
        _ content: Deposit.Content, of kept: Cache.KeptManifest, by response: ManifestResponse
    ) {
        guard let store else { return }
        store.add(response.deposit(content, on: kept.resource))
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
}
