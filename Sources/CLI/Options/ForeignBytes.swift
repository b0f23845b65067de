import ArgumentParser
import Foundation

/// The check that arguments and environment variables are UTF-8. Swift would replace invalid bytes,
/// so a path would lead to a different file. On Linux, the path of the cache keeps its bytes.
enum ForeignBytes {
    private static let cacheVariable = "LARDER_CACHE"
    private static let variables = [
        cacheVariable, "XDG_CACHE_HOME", ConfigFile.variable, "XDG_CONFIG_HOME", "HOME", "TMPDIR",
        "SQLITE_TMPDIR", "NETRC", "CURL_CA_BUNDLE", "SSL_CERT_FILE", "SHELL", "http_proxy",
        "https_proxy", "all_proxy", "no_proxy", "HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY",
        "NO_PROXY",
    ]

    /// Exits if a value is not UTF-8, and unsets empty variables. Must be called before other
    /// threads start, because it changes the environment.
    static func check() {
        for (number, argument) in arguments.enumerated().dropFirst()
        where String(validatingCString: argument) == nil {
            guard isCache(number) else { leave("argument \(number)", argument) }
            // Must run before the first use of `CommandLine.arguments`, which copies the arguments.
            CommandLine.unsafeArgv[number] = strdup(String(path: argument))
        }
        let awsVariables = ProcessInfo.processInfo.environment.keys.filter { $0.hasPrefix("AWS_") }
        for name in variables + awsVariables {
            guard let value = getenv(name) else { continue }
            if String(validatingCString: value) == nil {
                guard name == cacheVariable, keepsBytes else { leave("$\(name)", value) }
                setenv(name, String(path: value), 1)
            }
            // An empty value of these variables has a meaning: no proxy, or no configuration file.
            let isMeaningful =
                name == ConfigFile.variable || name.lowercased().hasSuffix("_proxy")
            if value.pointee == 0, !isMeaningful { unsetenv(name) }
        }
    }

    private static func isCache(_ number: Int) -> Bool {
        keepsBytes
            && (String(cString: arguments[number]).hasPrefix("--cache=")
                || String(cString: arguments[number - 1]) == "--cache")
    }

    private static var keepsBytes: Bool {
        #if os(Linux)
            true
        #else
            false
        #endif
    }

    private static var arguments: [UnsafeMutablePointer<CChar>] {
        (0..<Int(CommandLine.argc)).compactMap { CommandLine.unsafeArgv[$0] }
    }

    private static func leave(_ subject: String, _ bytes: UnsafePointer<CChar>) -> Never {
        let text = String(cString: bytes).quoted(limit: 200)
        Console.complain("\(subject) is not UTF-8: \(text); rename the file")
        _exit(ExitCode.validationFailure.rawValue)
    }
}
