import ArgumentParser
import LarderTransfer

extension HTTPURL {
    /// What `--base-url`, or another option, names; nil if it was not given.
    static func base(_ text: String?, option: String = "--base-url") throws -> HTTPURL? {
        guard let text else { return nil }
        do {
            return try HTTPURL(text)
        } catch {
            let reason =
                switch error {
                case .unsupportedScheme(let scheme): "it has the scheme '\(scheme)'"
                case .relativeWithoutBase: "it has no scheme"
                case .malformed(let reason): reason
                }
            throw ValidationError("\(option) is not an absolute http or https URL: \(reason).")
        }
    }
}
