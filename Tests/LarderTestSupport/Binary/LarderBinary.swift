import Foundation

/// A built executable of this package, run as a user or a script runs it.
public struct LarderBinary: Sendable {
    /// The path of the executable.
    public let path: String

    /// Finds an executable that was built together with the tests.
    ///
    /// - Throws: ``NotBuilt``.
    public init(_ name: String = "larder") throws {
        var directory = Self.testBundle
        // On macOS, the test executable is a few levels down, inside a bundle.
        for _ in 0..<5 {
            directory.deleteLastPathComponent()
            let candidate = directory.appendingPathComponent(name).path
            if FileManager.default.isExecutableFile(atPath: candidate) {
                path = candidate
                return
            }
        }
        throw NotBuilt(name: name, testBundle: Self.testBundle.path)
    }

    /// Runs the executable and waits for its end.
    ///
    /// - Parameters:
    ///   - standardInput: The input, or nil for none.
    ///   - environment: Variables to add to the environment of
    ///     ``start(_:standardInput:environment:directory:)``.
    ///   - directory: The working directory, or nil for that of the tests.
    ///   - timeout: The limit in seconds.
    /// - Throws: ``ProcessTimeout``, ``OriginError``.
    public func run(
        _ arguments: [String], standardInput: Data? = nil, environment: [String: String] = [:],
        directory: String? = nil, timeout: Double = 300
    ) throws -> Finished {
        try start(
            arguments, standardInput: standardInput, environment: environment, directory: directory
        ).wait(timeout: timeout)
    }

    /// Starts the executable.
    ///
    /// It inherits the environment except for variables that would change its behaviour, such as
    /// the home directory, the user's cache and proxies.
    public func start(
        _ arguments: [String], standardInput: Data? = nil, environment: [String: String] = [:],
        directory: String? = nil
    ) throws -> RunningProcess {
        let inherited = ProcessInfo.processInfo.environment.filter { name, _ in
            !name.hasPrefix("LARDER_") && !name.hasPrefix("XDG_") && name != "NO_COLOR"
                && !name.lowercased().hasSuffix("_proxy")
        }
        let own = ["HOME": "/nonexistent"]
        return try RunningProcess(
            path, arguments, standardInput: standardInput,
            environment: inherited.merging(own) { $1 }.merging(environment) { $1 },
            directory: directory)
    }

    /// An executable that does not exist.
    public struct NotBuilt: Error, CustomStringConvertible {
        let name: String
        let testBundle: String

        /// The name of the executable and the path of the tests.
        public var description: String { "no executable \(name) was built next to \(testBundle)" }
    }

    /// The file that contains this code.
    private static var testBundle: URL {
        #if canImport(Darwin)
            var information = Dl_info()
            if dladdr(#dsohandle, &information) != 0, let name = information.dli_fname {
                return URL(fileURLWithPath: String(cString: name))
            }
        #endif
        return Bundle.main.executableURL ?? URL(fileURLWithPath: CommandLine.arguments[0])
    }
}
