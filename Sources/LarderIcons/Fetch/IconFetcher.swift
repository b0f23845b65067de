/// Gets icons from the network for an ``IconLoader``, which limits how many at once, and in which
/// order.
///
/// LarderKit has one that uses libcurl (`TransferFetcher`); on Apple's platforms there is
/// `URLSessionFetcher`. An app may have its own.
public protocol IconFetcher: Sendable {
    /// Fetches one icon.
    ///
    /// If nobody waits for the icon any more, the task is cancelled: end as soon as you can.
    /// Whatever is returned is shown and stored, so check that it is the icon, and not a server's
    /// error page.
    ///
    /// - Throws: anything. It is shown as an ``IconFailure``, and remembered for a time. Throw an
    ///   `IconFailure` yourself to say for how long at least.
    func fetch(_ request: IconRequest) async throws -> FetchedIcon
}
