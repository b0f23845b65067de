import Foundation

#if canImport(FoundationNetworking)
    import FoundationNetworking
#endif

/// A `URLProtocol` that answers the requests of one ``OfflineIcons``. The session creates the
/// protocols, so only their class can identify the instance. A header field of the configuration
/// cannot, because Linux adds it to the request later.
final class OfflineProtocol<Number: TypeNumber>: URLProtocol {
    private let answering = DispatchGroup()

    override class func canInit(with request: URLRequest) -> Bool {
        // URLs with these schemes need no network.
        !["data", "file"].contains(request.url?.scheme?.lowercased())
    }

    override class func canonicalRequest(for request: URLRequest) -> URLRequest { request }

    override func startLoading() {
        #if canImport(FoundationNetworking)
            guard !(task is URLSessionDownloadTask) else {
                return fail(.unsupportedURL, "download tasks are not supported on Linux")
            }
        #endif
        guard let icons = OfflineInstances.instance(Number.value) else {
            return fail(.cancelled, "the OfflineIcons instance of this URLSession was released")
        }
        do throws(OfflineIcons.MissingIconError) {
            let (data, type) = try icons.answer(to: request)
            let fields = ["Content-Type": type, "Content-Length": "\(data.count)"]
            guard let url = request.url,
                let response = HTTPURLResponse(
                    url: url, statusCode: 200, httpVersion: "HTTP/1.1", headerFields: fields)
            else { return fail(.badURL, "the request has no URL") }
            answer {
                $0.client?.urlProtocol($0, didReceive: response, cacheStoragePolicy: .notAllowed)
                if $0.request.httpMethod != "HEAD" { $0.client?.urlProtocol($0, didLoad: data) }
                $0.client?.urlProtocolDidFinishLoading($0)
            }
        } catch {
            fail(.resourceUnavailable, "\(error)")
        }
    }

    override func stopLoading() { answering.wait() }

    private func answer(_ body: @escaping @Sendable (URLProtocol) -> Void) {
        #if canImport(FoundationNetworking)
            // Before Swift 6.4, a client that resumes a task blocks the session forever if another
            // thread cancels the task and waits for the session (swift-corelibs-foundation 5412).
            // So the session waits for at most 0.2 s. Unsafe because the compiler does not know
            // that only the client uses the request now.
            nonisolated(unsafe) let request: URLProtocol = self
            DispatchQueue(label: "larder.offline-icons").async(group: answering) { body(request) }
            _ = answering.wait(timeout: .now() + 0.2)
        #else
            // The client must be called on this thread.
            body(self)
        #endif
    }

    private func fail(_ code: URLError.Code, _ message: String) {
        var information: [String: Any] = [NSLocalizedDescriptionKey: message]
        if let url = request.url { information[NSURLErrorFailingURLErrorKey] = url }
        let error = URLError(code, userInfo: information)
        answer { $0.client?.urlProtocol($0, didFailWithError: error) }
    }
}

/// A number as a type, built from binary digits. It specializes a generic class at run time.
protocol TypeNumber { static var value: Int { get } }
private enum Zero: TypeNumber { static var value: Int { 0 } }
private enum Even<Half: TypeNumber>: TypeNumber { static var value: Int { 2 * Half.value } }
private enum Odd<Half: TypeNumber>: TypeNumber { static var value: Int { 2 * Half.value + 1 } }

enum OfflineInstances {
    private struct Reference { weak var icons: OfflineIcons? }

    private static let lock = NSLock()
    // Unsafe because the compiler does not know that `lock` protects the variables.
    private nonisolated(unsafe) static var references: [Int: Reference] = [:]
    private nonisolated(unsafe) static var count = 0
    private nonisolated(unsafe) static var shared: URLProtocol.Type?

    /// Returns a new class for the sessions of `icons`. No class is used again, because a session
    /// can outlive its instance.
    static func add(_ icons: OfflineIcons) -> URLProtocol.Type {
        let number = lock.withLock {
            count += 1
            references = references.filter { $0.value.icons != nil }
            references[count] = Reference(icons: icons)
            return count
        }
        func open<Number: TypeNumber>(_: Number.Type) -> URLProtocol.Type {
            OfflineProtocol<Number>.self
        }
        return open(type(number))
    }

    private static func type(_ number: Int) -> any TypeNumber.Type {
        guard number > 0 else { return Zero.self }
        func open<Half: TypeNumber>(_: Half.Type) -> any TypeNumber.Type {
            number % 2 == 0 ? Even<Half>.self : Odd<Half>.self
        }
        return open(type(number / 2))
    }

    static func instance(_ number: Int) -> OfflineIcons? {
        lock.withLock { references[number]?.icons }
    }

    static func share(_ protocolClass: URLProtocol.Type) -> Bool {
        lock.withLock {
            guard shared == nil else { return shared == protocolClass }
            shared = protocolClass
            #if canImport(FoundationNetworking)
                // On Linux, registered classes have the lowest priority.
                let configuration = URLSession.shared.configuration
                configuration.protocolClasses =
                    [protocolClass] + (configuration.protocolClasses ?? [])
            #else
                URLProtocol.registerClass(protocolClass)
            #endif
            return true
        }
    }

    static func unshare(_ protocolClass: URLProtocol.Type) {
        lock.withLock {
            guard shared == protocolClass else { return }
            shared = nil
            #if canImport(FoundationNetworking)
                URLSession.shared.configuration.protocolClasses?.removeAll { $0 == protocolClass }
            #else
                URLProtocol.unregisterClass(protocolClass)
            #endif
        }
    }
}
