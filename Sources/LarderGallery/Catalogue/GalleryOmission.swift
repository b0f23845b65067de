/// What a gallery does not show.
public enum GalleryOmission: Sendable {
    /// An entry that has no icon.
    case withoutIcon(name: String, reason: String)
    /// An icon beyond ``GalleryLimits/icons``.
    case excess
}
