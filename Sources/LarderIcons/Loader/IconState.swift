/// What a view can show for an icon.
public enum IconState: Sendable {
    /// Nothing yet: it is being looked for in that place. Nil if nobody has asked for it.
    case placeholder(IconSource?)
    /// The icon, and where it was found this time.
    case image(MemoryCache.Entry, from: IconSource)
    /// Why there is no icon, and who says so: `memory` of a failure that is remembered.
    case failed(IconFailure, from: IconSource)

    /// The icon; nil if there is none (yet).
    public var entry: MemoryCache.Entry? {
        if case .image(let entry, _) = self { entry } else { nil }
    }
}
