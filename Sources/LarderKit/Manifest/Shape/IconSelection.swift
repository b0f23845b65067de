/// Which icons of an entry are wanted if it has several.
public enum IconSelection: String, Sendable, CaseIterable {
    /// Every one: an app that is offline may ask for any of them.
    case all
    /// The largest; the first of several, and one of unknown size only if no size is known.
    case largest
    /// The smallest; one of unknown size counts as smallest, the first of several.
    case smallest
    /// The first, in the order of the shape's paths and then of the manifest.
    case first
}
