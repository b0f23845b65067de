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

    /// The file of certificate authorities that libcurl was built with, if it is there.
    static let certificateBundle: String? = {
        // The version information has had that file since CURLVERSION_SEVENTH.
        guard let information = larder_version_info(),
            information.pointee.age.rawValue >= CURLVERSION_SEVENTH.rawValue,
            let bundle = information.pointee.cainfo, access(bundle, R_OK) == 0
        else { return nil }
        return String(cString: bundle)
    }()
}
