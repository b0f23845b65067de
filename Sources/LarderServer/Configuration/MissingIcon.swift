/// What a server answers for an icon that is not cached.
public enum MissingIcon: String, Sendable, CaseIterable {
    /// Status 404.
    case notFound = "404"
    /// Status 200 and a grey square, which says in a header field that it is none of the icons.
    case placeholder
}
