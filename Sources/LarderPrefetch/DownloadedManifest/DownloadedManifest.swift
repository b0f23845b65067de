import Foundation
import LarderCache
import LarderCore
import LarderHTTP
import LarderManifest
import Synchronization

/// A manifest at an http or https URL, downloaded to an unnamed file. With a cached copy, an
/// unchanged manifest costs one conditional request.
struct DownloadedManifest: Sendable {
    let url: HTTPURL
    var transfer = TransferConfiguration()
    var retry = RetryPolicy()
    var headers: [HeaderRule] = []
    var allowsDowngrade = false
    var storesUnstorable = false
    /// The maximum size of the decoded and unpacked manifest.
    var maximumBytes: Int64 = 256 << 20
    var cache: Cache?
    /// The store for new copies. With a `cache` but no store, copies are read without requests.
    var store: Store?
    var isCancelled: @Sendable () -> Bool = { false }

    /// Always revalidates a copy, because users who name a URL expect its current content.
    func download() throws -> OpenedManifest {
        let kept = try cache?.manifest(url)
        if let cache, store == nil {
            guard let kept else { throw ManifestError.notCached(url) }
            cache.noteUse(of: kept.resource.object)
            return OpenedManifest(descriptor: kept.file.descriptor, baseURL: kept.file.baseURL)
        }
        var used: Int32?
        defer { if let kept, kept.file.descriptor != used { close(kept.file.descriptor) } }
        try HelperThread.require()
        let loop: TransferLoop
        do throws(TransferError) {
            loop = try TransferLoop(configuration: transfer)
        } catch {
            throw ManifestError(.unreadable, source: "\(url)", error.message)
        }
        defer { loop.shutdown() }
        let policy = RequestPolicy(
            headers: RequestHeaders(
                rules: headers, for: transfer,
                accept: "application/json, application/x-plist, */*;q=0.8"),
            maximumBodyBytes: maximumBytes, storesUnstorable: storesUnstorable,
            allowsDowngrade: allowsDowngrade)
        let client = HTTPClient(loop: loop, policy: policy)
        let file = try UnnamedFile(for: "\(url)")
        defer { if file.descriptor != used { close(file.descriptor) } }
        let response = try fetch(with: client, about: kept?.resource, into: file)
        if let content = response.confirmation, let kept {
            store?.add(response.deposit(content, on: kept.resource))
            store?.flush()
            used = kept.file.descriptor
            return OpenedManifest(descriptor: kept.file.descriptor, baseURL: kept.file.baseURL)
        }
        lseek(file.descriptor, 0, SEEK_SET)
        used = file.descriptor
        var opened = OpenedManifest(descriptor: file.descriptor, baseURL: response.target.url)
        if let store, policy.mayStore(response.validators) {
            // Stored only after it was read, so that only a valid manifest replaces a copy.
            opened.whenRead = { hasCredentials in
                if !hasCredentials { try keep(file.descriptor, of: response, in: store) }
            }
        }
        return opened
    }

    private func fetch(
        with client: HTTPClient, about kept: Resource?, into file: UnnamedFile
    ) throws -> HTTPClient.Response {
        do {
            return try waitForTask(on: client.loop, unless: isCancelled) {
                var known = kept
                return try await retry.attempt {
                    try await client.fetch(url, about: known) { try sink(into: file) }
                } onRetry: { (failure: ResourceFailure, _: Int, _: Duration) in
                    if failure.asksUnconditionally { known = nil }
                    transfer.logger?.info(
                        "retrying a manifest",
                        metadata: ["url": url.logged, "code": "\(failure.code)"])
                }
            }
        } catch let failure as ResourceFailure {
            if isCancelled() { throw CancellationError() }
            let isTooLarge = failure.code == TransferError.Code.tooLarge.rawValue
            throw ManifestError(
                isTooLarge ? .tooLarge : .unreadable, source: "\(url)",
                failure.message + (isTooLarge ? "; --max-manifest-size permits more" : ""))
        }
    }

    private func sink(into file: UnnamedFile) throws -> ByteSink {
        // A failed attempt may have left bytes.
        guard ftruncate(file.descriptor, 0) == 0, lseek(file.descriptor, 0, SEEK_SET) == 0 else {
            throw ManifestError.system(errno, "cannot store the manifest", source: "\(url)")
        }
        return { bytes in
            let number = file.append(bytes)
            if number == 0 { return true }
            let reason = String(cString: strerror(number))
            throw ResourceFailure(.storage, "cannot store the manifest: \(reason)")
        }
    }

    private func keep(_ file: Int32, of response: HTTPClient.Response, in store: Store) throws {
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
