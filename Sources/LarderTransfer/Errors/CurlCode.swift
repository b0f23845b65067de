import CCurl

/// A result code of libcurl's easy interface (`CURLcode`), for those who do not see libcurl.
///
/// Source: [libcurl-errors(3)](https://curl.se/libcurl/c/libcurl-errors.html).
package struct CurlCode: RawRepresentable, Hashable, Sendable, CustomStringConvertible {
    /// The number libcurl uses.
    package let rawValue: UInt32

    /// `CURLE_OK`: no error.
    static let ok = CurlCode(CURLE_OK)

    /// Wraps libcurl's number; every value is allowed, since later versions add some.
    package init(rawValue: UInt32) {
        self.rawValue = rawValue
    }

    init(_ code: CURLcode) {
        self.init(rawValue: code.rawValue)
    }

    /// As libcurl's own functions and constants have it.
    var code: CURLcode { CURLcode(rawValue) }

    /// libcurl's own words and number, such as `Couldn't connect to server (curl 7)`.
    package var description: String {
        "\(String(cString: curl_easy_strerror(code))) (curl \(rawValue))"
    }
}
