/// How a file came to be in its place.
enum Placement: Sendable {
    /// It is another name of the cache's own file.
    case linked
    /// It shares the blocks of the cache's file, until one of them is written.
    case cloned
    /// It is a copy.
    case copied
    /// It was there, with the right bytes.
    case unchanged
}
