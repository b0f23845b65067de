import LarderTransfer

extension String {
    /// The spelling for people of a canonical URL: its userinfo part, where there is one, reads `***`.
    package var maskingCredentials: String {
        // Parsing costs a microsecond: only what may hold credentials is parsed.
        guard utf8.contains(UInt8(ascii: "@")), contains("://") else { return self }
        return (try? HTTPURL(self))?.description ?? "(not shown)"
    }
}
