/// One icon of an element of a manifest, or an element without any, in the manifest's order.
public struct ManifestItem: Sendable {
    /// The element's place among all of them, those that failed included; the first is 1.
    public let position: Int
    /// The icon's place among those of its element; the first is 1, also if there is none.
    public let icon: Int
    /// The line that the element begins on; nil in a binary plist.
    public let line: Int?
    /// The element's name, if it could be read; text from outside, not safe to print.
    public let name: String?
    /// What the element turned out to be.
    public let result: Result

    /// What an element turned out to be.
    public enum Result: Sendable {
        /// An entry with its icon, or one of its icons.
        case entry(Entry)
        /// The same with an icon that the manifest itself holds.
        case inline(InlineEntry)
        /// Nothing to fetch; the reason is for people.
        case skipped(String)
        /// Not usable; the others are.
        case failed(EntryError)
    }
}
