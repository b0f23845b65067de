import Testing

extension OutputDocument {
    /// Compares objects with a table of keys. Each object has exactly the keys of the table, and its
    /// values have the types of the table, which are integer by default. A key is null in some object
    /// if and only if its type ends with a question mark.
    ///
    /// - Parameter column: The heading of the first column.
    func compare(
        _ objects: [[String: JSONValue]], with heading: String, _ column: String = "key",
        _ location: SourceLocation = #_sourceLocation
    ) throws {
        let table = try self.table(heading, column)
        #expect(table.columns == [column, "meaning"])
        #expect(!objects.isEmpty, sourceLocation: location)
        for object in objects {
            #expect(Set(object.keys) == Set(table.words), sourceLocation: location)
        }
        for key in table.words {
            let values = objects.compactMap { $0[key] }
            let documented = table.notes[key] ?? "integer"
            let isOptional = documented.hasSuffix("?")
            let type = isOptional ? String(documented.dropLast()) : documented
            #expect(
                values.allSatisfy { $0 == .null || $0.isOf(type) },
                "\(key) is not of type \(type): \(values)", sourceLocation: location)
            #expect(
                values.contains { $0 != .null }, "\(key) is always null", sourceLocation: location)
            #expect(
                values.contains(.null) == isOptional,
                "\(key): null is not as documented", sourceLocation: location)
        }
    }
}
