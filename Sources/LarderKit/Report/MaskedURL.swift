import Foundation
import LarderTransfer

extension String {
    /// The spelling for people of a canonical URL: its userinfo part, where there is one, reads `***`.
    package var maskingCredentials: String {
        // Parsing costs a microsecond: only what may hold credentials is parsed.
        guard utf8.contains(UInt8(ascii: "@")), contains("://") else { return self }
        return (try? HTTPURL(self))?.description ?? maskingUserinfo
    }

    /// What would be the userinfo part of a URL reads `***`, also where the text is no URL: all
    /// before the last `@` of the authority, generously read.
    package var maskingUserinfo: String {
        let start = range(of: "//")?.upperBound ?? startIndex
        let end = self[start...].firstIndex { "/?#\\".contains($0) } ?? endIndex
        guard let at = self[start..<end].lastIndex(of: "@") else { return self }
        return self[..<start] + "***" + self[at...]
    }
}
