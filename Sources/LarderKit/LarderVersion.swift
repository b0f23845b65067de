/// What this is, for `--version` and for the servers that are asked.
public enum LarderVersion {
    /// The version, as in CHANGELOG.md.
    public static let current = "0.1.0"

    /// The User-Agent field of every request, unless overridden.
    public static let userAgent = "larder/\(current)"
}
