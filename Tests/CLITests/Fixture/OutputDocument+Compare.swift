import Testing

extension OutputDocument {
    /// Every key of every object is in the table, and every one of the table in every object; the
    /// types are the table's; a value is null somewhere exactly where the table says so.
    ///
    /// - Parameter column: the first column's heading.
    func compare(
        _ objects: [[String: JSONValue]], with heading: String, _ column: String = "key",
        _ location: SourceLocation = #_sourceLocation
    ) throws {
        let table = try self.table(heading, column)
        #expect(table.columns == [column, "type", "unit", "null", "meaning"])
        #expect(!objects.isEmpty, sourceLocation: location)
        for object in objects {
            #expect(Set(object.keys) == Set(table.words), sourceLocation: location)
        }
        for key in table.words {
            let values = objects.compactMap { $0[key] }
            let type = table.cell(key, "type") ?? ""
            #expect(
                values.allSatisfy { $0 == .null || $0.isOf(type) },
                "\(key) is no \(type): \(values)", sourceLocation: location)
            #expect(
                values.contains { $0 != .null }, "\(key) is always null", sourceLocation: location)
            #expect(
                values.contains(.null) == (table.cell(key, "null") != "never"),
                "\(key): null is not as documented", sourceLocation: location)
        }
    }
}
