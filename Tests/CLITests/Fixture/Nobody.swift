import Foundation
import LarderTestSupport

/// Runs the binary without root's privileges.
enum Nobody {
    /// Runs the binary as the user `nobody`, or as the current user if that is not root.
    static func run(_ binary: LarderBinary, _ arguments: [String]) throws -> Finished {
        guard geteuid() == 0 else { return try binary.run(arguments) }
        let identity = ["--reuid=65534", "--regid=65534", "--clear-groups"]
        return try RunningProcess("/usr/bin/setpriv", identity + [binary.path] + arguments).wait()
    }

    /// Whether `setpriv` is available and the user `nobody` can read the binary.
    static let isPossible: Bool = {
        guard let binary = try? LarderBinary() else { return false }
        return (try? run(binary, ["--version"]))?.status == 0
    }()
}
