extension String {
    /// A URL's text with `***` where its credentials were.
    package var showingMask: String {
        guard let authority = utf8.firstRange(of: "://".utf8)?.upperBound else { return self }
        return "\(self[..<authority])***@\(self[authority...])"
    }

    /// A URL's text with `***` in place of its query, whatever that holds.
    package var maskingQuery: String {
        guard let mark = utf8.firstIndex(of: UInt8(ascii: "?")) else { return self }
        return "\(self[...mark])***"
    }

    /// A URL's text with `***` for each value in its query that is a secret by its name, or is a
    /// URL with such a value.
    package var maskingSecretsInQuery: String {
        guard let mark = utf8.firstIndex(of: UInt8(ascii: "?")) else { return self }
        let query = self[index(after: mark)...].utf8
        var masked = String(self[...mark])
        var rest = query
        while true {
            let end = rest.firstIndex { "&;".utf8.contains($0) } ?? rest.endIndex
            let parameter = rest[..<end]
            if let equals = parameter.firstIndex(of: UInt8(ascii: "=")),
                SecretParameter.hasOne(parameter[..<equals], parameter[equals...].dropFirst())
            {
                masked += "\(Substring(parameter[...equals]))***"
            } else {
                masked += Substring(parameter)
            }
            guard end < rest.endIndex else { return masked }
            masked += Substring(rest[end...end])
            rest = rest[rest.index(after: end)...]
        }
    }
}
