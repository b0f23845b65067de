/// One value after another of a manifest, in the order of the file: what the formats have in
/// common.
///
/// The cursor stands before a value, which must be taken, passed over or entered.
protocol ManifestCursor {
    func kind() throws -> ValueKind
    /// The line that it begins on; nil in a binary plist.
    var line: Int? { get }
    /// The number of bytes that were read. Only differences are meaningful.
    var progress: Int { get }
    /// Takes the value, within the limits of an entry.
    func take() throws -> Result<ManifestValue, EntryError>
    /// Passes over the value. Returns what is wrong with it, if the format tells.
    @discardableResult func skip() throws -> EntryError?
    /// Passes over the value, and lets it be read on the way, if that changes nothing about
    /// whether the rest can be read.
    ///
    /// - Parameter body: takes or passes over the value with a cursor that stands before it.
    func skip(lookingOver body: (Self) throws -> Void) throws
    /// Enters a dictionary, and hands over each key; what comes next then is the value.
    func forEachMember(_ body: (Result<String, EntryError>) throws -> Void) throws
    /// Enters an array; before each call an element comes next.
    func forEachElement(_ body: () throws -> Void) throws
    func error(_ code: ManifestError.Code, _ reason: String) -> ManifestError
}

enum ValueKind {
    case dictionary
    case array
    case scalar
}
