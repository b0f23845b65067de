import LarderTransfer

/// Where a redirect leads, and where it may not.
enum Redirect {
    /// More than these are a loop.
    static let maximum = 10

    /// The statuses that redirect a `GET` (RFC 9110, section 15.4).
    static let statuses: Set = [301, 302, 303, 307, 308]

    /// The URL to be asked for next.
    ///
    /// - Parameters:
    ///   - location: as the response to a request for `url` has it.
    ///   - redirects: how many were followed before.
    ///   - allowsDowngrade: whether https may lead to http.
    static func target(
        of location: String, from url: HTTPURL, after redirects: Int, allowsDowngrade: Bool
    ) -> Result<HTTPURL, FetchFailure> {
        guard redirects < maximum else {
            return .failure(FetchFailure(.redirects, "more than \(maximum) redirects"))
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
        if url.scheme == .https, target.scheme == .http, !allowsDowngrade {
            return .failure(
                FetchFailure(
                    .badRedirect,
                    """
                    redirected from https to http: \(target.description.maskingQuery); \
                    --allow-downgrade permits it
                    """
                ))
        }
        return .success(target)
    }
}
