import LarderCache
import LarderTransfer

/// A planned fetch under way: which attempt it is in, and where redirects have led it.
///
/// A value that travels from one operation to the next; each operation is one request.
struct Fetch: Sendable {
    /// More redirects than this are a loop.
    static let maximumRedirects = 10

    let planned: PlannedFetch
    /// Where the next request goes.
    private(set) var url: HTTPURL
    /// Requests that were started over, this one included; redirects do not count.
    private(set) var attempt = 1
    private(set) var redirects = 0
    /// What the cache has, if its origin is to be asked whether it changed.
    private(set) var known: Resource?
    let start: ContinuousClock.Instant

    init(_ planned: PlannedFetch, url: HTTPURL, known: Resource?) {
        self.planned = planned
        self.url = url
        self.known = known
        self.start = .now
    }

    /// The same fetch, to be asked for at the place that a redirect named.
    func redirected(to location: String) -> Result<Fetch, FetchFailure> {
        guard redirects < Self.maximumRedirects else {
            return .failure(
                FetchFailure(.redirects, "more than \(Self.maximumRedirects) redirects"))
        }
        let target: HTTPURL
        do throws(HTTPURL.ParseError) {
            target = try HTTPURL(location, relativeTo: url)
        } catch {
            let reason =
                switch error {
                case .unsupportedScheme(let scheme): "to the scheme \(scheme)"
                case .relativeWithoutBase: "to nowhere"
                case .malformed(let why): "to what is no URL (\(why))"
                }
            return .failure(FetchFailure(.badRedirect, "redirected \(reason)"))
        }
        if url.scheme == .https, target.scheme == .http {
            return .failure(FetchFailure(.badRedirect, "redirected from https to http: \(target)"))
        }
        var next = self
        next.url = target
        next.redirects += 1
        // Validators belong to the URL that they came from: another's 304 would vouch for it.
        next.known = nil
        return .success(next)
    }

    /// The same fetch from its beginning.
    ///
    /// - Parameter unconditionally: the cache lost what it had; ask for the bytes.
    func again(from url: HTTPURL, unconditionally: Bool = false) -> Fetch {
        var next = self
        next.url = url
        next.redirects = 0
        next.attempt += 1
        if unconditionally { next.known = nil }
        return next
    }

    /// How long to wait before this attempt: exponential with full jitter, at most a minute
    /// (Marc Brooker, "Exponential Backoff And Jitter", AWS Architecture Blog, 2015).
    var backOff: Duration {
        let ceiling = min(60, 0.1 * Double(1 << min(attempt - 1, 20)))
        return .seconds(Double.random(in: 0...ceiling))
    }

    var elapsed: Double { (ContinuousClock.now - start) / .seconds(1) }
}
