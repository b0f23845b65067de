import LarderCache

/// An icon that is to be exported, if the cache has it.
struct ExportedIcon {
    /// Its place in the list, from 1.
    let id: Int64
    /// The entry's name; text from outside.
    let name: String
    /// The URL as an app has it; nil if there is none.
    let url: String?
    /// What it is looked up by.
    let key: String
    /// What its files' names begin with; nil if that is not known yet.
    let stem: String?
    /// Nil if it has failed already.
    let object: StoredObject?

    static let columns = "id, name, url, key, stem, \(StoredObject.columns)"

    init(_ row: PreparedStatement) throws {
        id = row.integer(0)
        name = try row.requireText(1)
        url = row.text(2)
        key = try row.requireText(3)
        stem = row.text(4)
        object = row.isNull(5) ? nil : try StoredObject(row, startingAt: 5)
    }

    func problem(_ code: ExportReason, _ message: String) -> ExportProblem {
        ExportProblem(code: code, name: name, url: url ?? key, message: message)
    }
}
