import LarderManifest

/// What a server serves, where, and within what bounds.
public struct ServerConfiguration: Sendable {
    /// The cache's directory.
    public var cache: String
    /// The address to listen on: a name or a number. Default: `127.0.0.1`.
    public var host = "127.0.0.1"
    /// The port to listen on; 0 lets the kernel choose. Default: 8080.
    public var port = 8080
    /// The manifests that are served with their icons at this server. Default: none.
    public var manifests: [ServedManifest] = []
    /// How manifests are read. Default: as their content tells.
    public var manifestRules = ManifestRules()
    /// What clients call the server, such as `https://icons.example`, without a slash at its end.
    /// Default: nil, what their requests call it.
    public var publicURL: String?
    /// Whether it answers as a proxy does, for any `http` URL. Default: false.
    public var isMirror = false
    /// Whether there is a page with all icons at `/`, for people. Default: true.
    public var hasGallery = true
    /// What is answered for an icon that is not cached. Default: 404.
    public var fallback = MissingIcon.notFound
    /// The value of `Access-Control-Allow-Origin` for icons, objects and manifests. Default: nil,
    /// none: pages of other origins show icons and cannot read them.
    public var allowedOrigin: String?
    /// What icons in memory may take, in bytes. Default: 64 MiB. With 0 each is read from the disk.
    public var memoryLimit = 64 << 20
    /// How many connections may be open; others wait until one closes. Default: 4,096.
    public var maximumConnections = 4_096
    /// How long a request's head may take from its first byte on. Default: 10 s.
    public var headTimeout = Duration.seconds(10)
    /// How long a connection may be open without a request. Default: 60 s.
    public var idleTimeout = Duration.seconds(60)
    /// How long a client may take nothing of a response that waits for it. Default: 2 min.
    public var stallTimeout = Duration.seconds(120)
    /// How long responses that are under way may take once the server is told to stop. Default:
    /// 30 s.
    public var grace = Duration.seconds(30)
    /// What takes the manifest of the URLs that were asked for and are not cached. Default: nil,
    /// nothing is noted.
    public var missing: MissingListOutput?
    /// Takes messages about damaged objects and the like, from any thread. Default: nobody.
    public var onProblem: @Sendable (String) -> Void = { _ in }
    /// Takes lines of the request log, each with its line end. Several event loops call it, also at
    /// the same time, and wait for it. Default: nil, none is kept.
    public var accessLog: (@Sendable (String) -> Void)?

    /// The defaults, for a cache.
    public init(cache: String) {
        self.cache = cache
    }
}

/// What a server answers for an icon that is not cached.
public enum MissingIcon: String, Sendable, CaseIterable {
    /// Status 404.
    case notFound = "404"
    /// Status 200 and a grey square, which says in a header field that it is none of the icons.
    case placeholder
}

/// A manifest that a server serves.
public struct ServedManifest: Sendable {
    /// The last part of its path: `/manifest/<name>`.
    public let name: String
    /// Where it is; it is read again once it has changed.
    public let source: ManifestSource

    /// Takes its parts.
    public init(name: String, source: ManifestSource) {
        self.name = name
        self.source = source
    }
}

/// Why a server cannot be started.
public struct ServerError: Error, Sendable, CustomStringConvertible {
    /// The kind of failure.
    public enum Code: String, Sendable {
        /// The server cannot listen on the address.
        case address
    }

    /// The kind of failure.
    public let code: Code
    /// What it is about: the address.
    public let subject: String
    /// What happened, in words.
    public let message: String

    /// `subject: message`.
    public var description: String { "\(subject): \(message)" }
}
