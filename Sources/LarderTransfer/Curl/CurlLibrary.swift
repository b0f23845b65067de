import CCurl

/// libcurl's process-wide state.
enum CurlLibrary {
    /// Initialised at the first use and never torn down: other code of the process may share it.
    static let initialization = CurlCode(curl_global_init(Int(CURL_GLOBAL_DEFAULT)))
}
