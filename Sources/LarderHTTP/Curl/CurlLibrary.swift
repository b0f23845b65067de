import CCurl
import Foundation
import LarderCore

package enum CurlLibrary {
    package static var version: String {
        larder_version_info()?.pointee.version.map { String(cString: $0) } ?? "unknown"
    }

    /// Never followed by `curl_global_cleanup`, because other code may use libcurl.
    static let initialization = curl_global_init(Int(CURL_GLOBAL_DEFAULT))

    static let certificateBundle: String? = {
        let own = larder_version_info()?.pointee.cainfo.map { String(cString: $0) }
        return ([own].compactMap(\.self) + distributionBundles).first { access($0, R_OK) == 0 }
    }()

    #if os(Linux)
        private static let distributionBundles = [
            "/etc/ssl/certs/ca-certificates.crt",  // Debian, Ubuntu, Arch
            "/etc/pki/tls/certs/ca-bundle.crt",  // Fedora, RHEL
            "/etc/ssl/ca-bundle.pem",  // openSUSE
            "/etc/pki/ca-trust/extracted/pem/tls-ca-bundle.pem",  // Fedora 43 and later
            "/etc/ssl/cert.pem",  // Alpine
        ]
    #else
        private static let distributionBundles: [String] = []
    #endif
}

/// libcurl's conversion of international host names to ASCII.
public enum CurlHosts {
    /// Installs the conversion for this process, unless one is already installed.
    public static func install() { InternationalHosts.install(ascii) }

    // Safe because the locale is never changed or freed.
    private nonisolated(unsafe) static let utf8Locale: locale_t? = {
        for name in ["C.UTF-8", "en_US.UTF-8", "UTF-8"] {
            if let locale = newlocale(Int32(LC_CTYPE_MASK), name, nil) { return locale }
        }
        return nil
    }()

    private static func ascii(_ host: String) -> String? {
        guard let handle = curl_url() else { return nil }
        defer { curl_url_cleanup(handle) }
        guard !host.utf8.contains(0), curl_url_set(handle, CURLUPART_HOST, host, 0) == CURLUE_OK
        else { return nil }
        // libidn2 reads names in the locale's encoding, which lacks `ü` under `LC_ALL=C`.
        let previous = utf8Locale.flatMap { uselocale($0) }
        defer { if let previous { _ = uselocale(previous) } }
        var ascii: UnsafeMutablePointer<CChar>?
        let code = curl_url_get(handle, CURLUPART_HOST, &ascii, UInt32(CURLU_PUNYCODE))
        // libcurl 7.88 allocates a copy even if the conversion fails.
        defer { curl_free(ascii) }
        guard code == CURLUE_OK, let ascii else { return nil }
        return String(cString: ascii)
    }
}
