import LarderManifest
import Logging
import Synchronization

package struct ServerConfiguration: Sendable {
    package var cache: String
    package var host = "127.0.0.1"
    package var port = 8080
    package var manifests: [ServedManifest] = []
    package var manifestRules = ManifestRules()
    /// The URL that clients use, without a trailing slash. Default: nil (from the `Host` field).
    package var publicURL: String?
    package var isMirror = false
    package var hasGallery = true
    package var fallback = MissingIcon.notFound
    /// The value of `Access-Control-Allow-Origin`. Default: nil (other origins cannot read icons).
    package var allowedOrigin: String?
    /// The maximum total size of icons in memory, in bytes. If 0, icons are read from the disk.
    package var memoryLimit = 64 << 20
    package var maximumConnections = 4_096
    package var headTimeout = Duration.seconds(10)
    package var idleTimeout = Duration.seconds(60)
    /// The time after which a connection is closed if the client reads nothing of a response.
    package var stallTimeout = Duration.seconds(120)
    package var grace = Duration.seconds(30)
    package var missing: MissingListOutput?
    /// Receives messages, for example about damaged objects, on any thread.
    package var onProblem: @Sendable (String) -> Void = { _ in }
    /// Receives each line of the access log. Event loops call it concurrently and wait for it.
    package var accessLog: (@Sendable (String) -> Void)?
    /// Receives events for the operator. Secrets in URLs are masked.
    package var logger: Logger?

    package init(cache: String) { self.cache = cache }
}

package enum MissingIcon: String, Sendable, CaseIterable {
    case notFound = "404"
    case placeholder
}

package struct ServedManifest: Sendable {
    package let name: String
    package let source: ManifestSource

    package init(name: String, source: ManifestSource) { (self.name, self.source) = (name, source) }
}

final class ServerLog: Sendable {
    /// The limit on logged problems, because clients can cause any number of them.
    private static let maximumProblemsPerMinute = 20

    let logger: Logger?
    private let onProblem: @Sendable (String) -> Void
    private let state = Mutex((since: ContinuousClock.now, count: 0))

    init(_ logger: Logger? = nil, onProblem: @escaping @Sendable (String) -> Void) {
        (self.logger, self.onProblem) = (logger, onProblem)
    }

    func problem(_ message: String) {
        guard isBelowLimit() else { return }
        onProblem(message)
        logger?.warning("\(message)")
    }

    func warning(_ message: String, _ metadata: @autoclosure () -> Logger.Metadata) {
        guard let logger, isBelowLimit() else { return }
        logger.warning("\(message)", metadata: metadata())
    }

    private func isBelowLimit() -> Bool {
        state.withLock { state in
            if ContinuousClock.now - state.since > .seconds(60) { state = (.now, 0) }
            state.count += 1
            return state.count <= Self.maximumProblemsPerMinute
        }
    }
}
