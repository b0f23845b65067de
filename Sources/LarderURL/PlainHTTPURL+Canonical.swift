extension PlainHTTPURL {
    /// The canonical spelling of a URL that differs from it in these only: a scheme or host in
    /// upper case, the default port or an empty one, no path, a fragment. Nil of any other that is
    /// not plain: what libcurl makes of it is not known here.
    package init?(canonicalizing text: String) {
        if let plain = PlainHTTPURL(text) {
            self = plain
            return
        }
        // What is wrong with a fragment would be wrong with the URL.
        guard text.utf8.allSatisfy({ 0x21...0x7E ~= $0 }) else { return nil }
        let bytes = Array(text.utf8).prefix { $0 != UInt8(ascii: "#") }
        guard let colon = bytes.prefix(6).firstIndex(of: UInt8(ascii: ":")),
            bytes[colon...].starts(with: "://".utf8)
        else { return nil }
        let scheme = Self.lowercased(bytes[..<colon])
        let rest = bytes[(colon + 3)...]
        let end = rest.firstIndex { $0 == UInt8(ascii: "/") || $0 == UInt8(ascii: "?") }
        var authority = Self.lowercased(rest[..<(end ?? rest.endIndex)])
        let port = Self.defaultPort(isSecure: scheme == Array("https".utf8))
        if let colon = authority.firstIndex(of: UInt8(ascii: ":")),
            [":", ":\(port)"].contains(where: { $0.utf8.elementsEqual(authority[colon...]) })
        {
            authority.removeSubrange(colon...)
        }
        let target = rest[(end ?? rest.endIndex)...]
        let path = target.first == UInt8(ascii: "/") ? "" : "/"
        self.init(
            String(
                decoding: scheme + "://".utf8 + authority + path.utf8 + target, as: UTF8.self))
    }

    private static func lowercased(_ text: ArraySlice<UInt8>) -> [UInt8] {
        text.map { 0x41...0x5A ~= $0 ? $0 | 0x20 : $0 }
    }
}
