import Foundation

/// A built executable of this package, driven as a person or a script would.
public struct LarderBinary: Sendable {
    /// Where it is.
    public let path: String

    /// Finds the executable of that name where the tests were built.
    ///
    /// - Throws: ``NotBuilt``.
    public init(_ name: String = "larder") throws {
        var directory = Self.testBundle
        // On macOS the tests' own executable is some levels down, in a bundle.
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

    /// Runs it to its end.
    ///
    /// - Parameters:
    ///   - standardInput: what it reads; nil: nothing.
    ///   - environment: added to what ``start(_:standardInput:environment:directory:)`` leaves.
    ///   - directory: where it runs; nil: where the tests do.
    ///   - timeout: in seconds; default 300.
    /// - Throws: ``ProcessTimeout``, ``OriginError``.
    public func run(
        _ arguments: [String], standardInput: Data? = nil, environment: [String: String] = [:],
        directory: String? = nil, timeout: Double = 300
    ) throws -> Finished {
        try start(
            arguments, standardInput: standardInput, environment: environment, directory: directory
        ).wait(timeout: timeout)
    }

    /// Starts it. It inherits the environment without what would make it look elsewhere: a home
    /// directory, a cache of the user's, proxies.
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

    /// An executable that is not there.
    public struct NotBuilt: Error, CustomStringConvertible {
        let name: String
        let testBundle: String

        /// What was looked for, and where.
        public var description: String { "no executable \(name) was built beside \(testBundle)" }
    }

    /// The file this code was loaded from.
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
