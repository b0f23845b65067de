import CCurl
import LarderURL

/// The URL of a request.
public typealias HTTPURL = LarderURL.HTTPURL
/// The user name and password of a URL.
public typealias Credentials = LarderURL.Credentials

/// libcurl's conversion of international host names.
public enum CurlHosts {
    /// Installs it for this process, unless another one is installed (`InternationalHosts`).
    public static func install() { InternationalHosts.install(ascii) }

    private static func ascii(_ host: String) -> String? {
        guard let handle = curl_url() else { return nil }
        defer { curl_url_cleanup(handle) }
        guard !host.utf8.contains(0), curl_url_set(handle, CURLUPART_HOST, host, 0) == CURLUE_OK
        else { return nil }
        var ascii: UnsafeMutablePointer<CChar>?
        let code = UTF8Locale.run {
            curl_url_get(handle, CURLUPART_HOST, &ascii, UInt32(CURLU_PUNYCODE))
        }
        // Also if it fails: libcurl 7.88 leaves its copy of a host that has no ASCII form behind.
        defer { curl_free(ascii) }
        guard code == CURLUE_OK, let ascii else { return nil }
        return String(cString: ascii)
    }
}
