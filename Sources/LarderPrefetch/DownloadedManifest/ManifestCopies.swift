import Foundation
import LarderCache
import LarderCore
import LarderManifest
import Synchronization

/// Copies of downloaded manifests in a cache, stored like icons.
struct ManifestCopies: Sendable {
    let cache: Cache
    /// The store for new copies. If nil, existing copies are read without the network.
    let store: Store?
    let storesUnstorable: Bool

    func take(_ url: HTTPURL) throws -> OpenedManifest {
        guard let kept = try cache.manifest(url) else { throw ManifestError.notCached(url) }
        cache.noteUse(of: kept.resource.object)
        return OpenedManifest(descriptor: kept.file.descriptor, baseURL: kept.file.baseURL)
    }

    func put(_ file: Int32, of response: HTTPClient.Response) throws {
        guard let store else { return }
        let input = ByteInput(descriptor: file, isOwned: false, name: "\(response.target.first)")
        let buffer = UnsafeMutableRawBufferPointer.allocate(byteCount: 256 << 10, alignment: 16)
        defer { buffer.deallocate() }
        var offset = 0
        let body = try store.newBody { append in
            while case let count = try input.read(into: buffer, at: offset), count > 0 {
                offset += count
                try append(UnsafeRawBufferPointer(rebasing: buffer[..<count]))
            }
        }
        let digest = try body.finish()
        let staged = try store.stage(body, digest: digest, attributes: ObjectAttributes())
        let result = Result()
        store.add(response.deposit(.staged(staged)), for: result)
        store.flush()
        // A copy that cannot be kept does not matter, because the downloaded file has the bytes.
        let failure = result.failure.withLock { $0 }
        if let failure, ![.obstructed, .missing].contains(failure.code) { throw failure }
    }

    func note(
        _ content: Deposit.Content, of kept: Cache.KeptManifest, by response: HTTPClient.Response
    ) {
        guard let store else { return }
        store.add(response.deposit(content, on: kept.resource))
        store.flush()
    }

    private final class Result: Depositor {
        let failure = Mutex<CacheError?>(nil)

        func committed(_ outcomes: [Store.Outcome]) {
            guard case .failure(let error)? = outcomes.first?.result else { return }
            failure.withLock { $0 = error }
        }
    }
}

extension HTTPClient.Response {
    fileprivate func deposit(_ content: Deposit.Content, on known: Resource? = nil) -> Deposit {
        Deposit(
            key: target.first.key, url: target.first.string, responseURL: target.url.string,
            validators: known.map { validators.completed(from: $0.validators) } ?? validators,
            variant: variant, redirectsFreshUntil: target.redirectsFreshUntil, receivedAt: Date(),
            delay: delay / .seconds(1), content: content)
    }
}
