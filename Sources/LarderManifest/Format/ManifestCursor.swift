/// One value after another of a manifest of any format, in the order of the file.
///
/// The cursor stands before a value, which must be taken, passed over or entered.
protocol ManifestCursor {
    func kind() throws -> ValueKind
    /// The line of the value; nil in a binary plist.
    var line: Int? { get }
    /// The number of bytes that were read. Only differences are meaningful.
    var progress: Int { get }
    /// Takes the value, within the limits of an entry.
    func take() throws -> Result<ManifestValue, EntryError>
    /// Returns what is wrong with the value, if the format tells.
    @discardableResult func skip() throws -> EntryError?
    /// Passes over the value, which `body` may take or pass over if it cannot break the rest.
    func skip(lookingOver body: (Self) throws -> Void) throws
    /// Enters a dictionary, and hands over each key; its value comes next.
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
