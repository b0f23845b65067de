/// The object that a manifest begins with, while it is open whether it is the whole document or
/// the first of JSON Lines. Only members with a meaning in an entry are kept, each once, so that
/// memory is bounded however long the object is.
struct JSONFirstObject {
    /// The line it begins on.
    let line: Int
    /// The place it begins at.
    let offset: Int
    /// The line of the last byte read that is not blank.
    var lastLine: Int
    /// The bytes from its first to its last brace.
    var length = 0
    /// Whether an array `apps` has begun: it is a document.
    var hasEntries = false

    private var members: [ManifestValue.Member] = []
    private var failure: EntryError?
    private var kindOfApps: String?

    init(line: Int, offset: Int) {
        self.line = line
        self.offset = offset
        lastLine = line
    }

    var hasIcon: Bool { members.contains { $0.key == "icon" } }

    /// Why it holds no entries.
    var complaint: String {
        if let kindOfApps { return "'apps' is \(kindOfApps), not an array" }
        return "an object without an array 'apps'"
    }

    mutating func take(
        _ key: Result<String, EntryError>, _ value: Result<ManifestValue, EntryError>
    ) {
        do {
            let member = ManifestValue.Member(key: try key.get(), value: try value.get())
            if member.key == "apps" { kindOfApps = member.value.kind }
            guard EntryDecoder.keys.contains(member.key) else { return }
            members.removeAll { $0.key == member.key }
            members.append(member)
        } catch {
            failure = error
        }
    }

    /// The object as an entry.
    func entry(_ limits: ManifestLimits) -> Result<ManifestValue, EntryError> {
        if let failure { return .failure(failure) }
        if length > limits.maximumEntrySize { return .failure(.tooLarge(limits)) }
        return .success(.dictionary(members))
    }
}
