import CCurl
import Foundation

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
