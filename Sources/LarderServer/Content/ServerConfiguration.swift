import LarderManifest
import Logging

package struct ServerConfiguration: Sendable {
    package var cache: String
    package var host = "127.0.0.1"
    /// The port to listen on. With 0, the system chooses one.
    package var port = 8080
    /// The manifests that are served with their icons at this server.
    package var manifests: [ServedManifest] = []
    package var manifestRules = ManifestRules()
    /// The URL that clients use, for example `https://icons.example`, without a slash at its end.
    /// Default: nil, the `Host` of each request.
    package var publicURL: String?
    /// Whether it answers as a proxy does, for any `http` URL.
    package var isMirror = false
    /// Whether `/` is a page with all icons.
    package var hasGallery = true
    package var fallback = MissingIcon.notFound
    /// The value of `Access-Control-Allow-Origin` for icons, objects and manifests. Default: nil:
    /// pages of other origins show icons and cannot read them.
    package var allowedOrigin: String?
    /// The maximum size of icons in memory, in bytes. With 0, each is read from the disk.
    package var memoryLimit = 64 << 20
    /// The maximum number of open connections. Further clients wait.
    package var maximumConnections = 4_096
    /// The limit for the arrival of a request's head, from its first byte.
    package var headTimeout = Duration.seconds(10)
    /// The limit for a connection without a request.
    package var idleTimeout = Duration.seconds(60)
    /// The limit for a client that takes nothing of its response.
    package var stallTimeout = Duration.seconds(120)
    /// The limit for responses in progress when the server is told to stop.
    package var grace = Duration.seconds(30)
    /// Takes the manifest of the URLs that were asked for and are not cached.
    package var missing: MissingListOutput?
    /// Takes messages, for example about damaged objects, from any thread.
    package var onProblem: @Sendable (String) -> Void = { _ in }
    /// Takes lines of the access log, each with its line end. Event loops call it, also at the same
    /// time, and wait for it.
    package var accessLog: (@Sendable (String) -> Void)?
    /// Takes events for the server's operator: connections, refused and slow clients, limits,
    /// reopened caches and galleries. Secrets in URLs are masked. Default: nil, no log.
    package var logger: Logger?

    package init(cache: String) { self.cache = cache }
}

package enum MissingIcon: String, Sendable, CaseIterable {
    case notFound = "404"
    /// Status 200 and a grey square. A header field says that it is not the icon.
    case placeholder
}

package struct ServedManifest: Sendable {
    /// The last part of its path: `/manifest/<name>`.
    package let name: String
    package let source: ManifestSource

    package init(name: String, source: ManifestSource) {
        self.name = name
        self.source = source
    }
}

/// The reason why a server cannot listen on its address.
package struct ServerError: Error, CustomStringConvertible {
    package let address: String
    package let message: String

    package var description: String { "\(address): \(message)" }
}
