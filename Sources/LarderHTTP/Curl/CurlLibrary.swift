import CCurl
import Foundation
import LarderCore

/// libcurl's process-wide state.
package enum CurlLibrary {
    /// The version of the library that is loaded, which may be newer than its header, as in
    /// `7.88.1`.
    package static var version: String {
        larder_version_info()?.pointee.version.map { String(cString: $0) } ?? "unknown"
    }

    /// Initialised at the first use and never torn down: other code of the process may share it.
    static let initialization = CurlCode(curl_global_init(Int(CURL_GLOBAL_DEFAULT)))

    /// The file of certificate authorities that libcurl was built with; if it is not there, the
    /// first that is where a distribution of Linux has it. A program that contains its libcurl runs
    /// on others than the one it was built on.
    static let certificateBundle: String? = {
        // The version information has had that file since CURLVERSION_SEVENTH.
        let own =
            larder_version_info().flatMap { information in
                information.pointee.age.rawValue >= CURLVERSION_SEVENTH.rawValue
                    ? information.pointee.cainfo.map { String(cString: $0) } : nil
            }
        return firstReadable([own].compactMap { $0 } + distributionBundles)
    }()

    static func firstReadable(_ files: [String]) -> String? {
        files.first { access($0, R_OK) == 0 }
    }

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

/// What the easy handles of one loop know together: TLS sessions, so that a further connection to a
/// host is resumed whichever handle makes it. libcurl 7.88 keeps eight of them, the last.
///
/// Belongs to the loop's thread, and so needs no locks. Must outlive its handles.
final class SessionShare {
    let pointer: UnsafeMutableRawPointer

    init() throws(TransferError) {
        guard let pointer = larder_share_sessions() else {
            throw TransferError(code: .other, message: "libcurl has no memory for TLS sessions")
        }
        self.pointer = pointer
    }

    deinit { curl_share_cleanup(pointer) }
}

/// Runs code under a UTF-8 locale.
///
/// libcurl hands a host name to libidn2 in "the locale's encoding", which under `LC_ALL=C` cannot
/// hold `bücher.example`. Names here are UTF-8 whatever the user's locale, so the calling thread,
/// and no other, is told so for as long as the conversion takes: the process's locale is not a
/// library's to change.
enum UTF8Locale {
    // Unsafe to share as a pointer, and safe here because it is never changed or freed.
    private nonisolated(unsafe) static let locale: locale_t? = {
        let mask = Int32(LC_CTYPE_MASK)
        for name in ["C.UTF-8", "en_US.UTF-8", "UTF-8"] {
            if let locale = newlocale(mask, name, nil) { return locale }
        }
        return nil
    }()

    static func run<Result>(_ body: () -> Result) -> Result {
        guard let locale else { return body() }
        let previous = uselocale(locale)
        defer { _ = uselocale(previous) }
        return body()
    }
}

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
