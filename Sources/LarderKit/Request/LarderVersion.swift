/// What this is, for `--version` and for the servers that are asked.
public enum LarderVersion {
    /// The version, as in CHANGELOG.md.
    public static let current = "0.2.0"

    /// Where who runs a server can read what this is. A name that belongs to nobody (RFC 2606),
    /// until the project has an address.
    public static let address = "https://larder.example"

    /// The User-Agent field of every request, unless overridden: what asks, and where to read of
    /// it.
    public static let userAgent = "larder/\(current) (+\(address))"
}
