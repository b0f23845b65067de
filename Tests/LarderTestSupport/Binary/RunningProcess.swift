import Foundation
import Synchronization

/// A process that a test has started. Dropping it kills it.
public final class RunningProcess: Sendable {
    /// Its process id, which nobody else gets before ``wait(timeout:)`` can return.
    public let pid: Int32
    private let command: String
    private let watch: ProcessWatch

    /// Starts `path` with its output caught. The child gets no descriptor but the first three and
    /// every signal at its default, unblocked.
    ///
    /// - Parameters:
    ///   - standardInput: what it reads; nil: nothing (`/dev/null`).
    ///   - environment: all of its environment.
    ///   - directory: where it runs; nil: where the tests do.
    public init(
        _ path: String, _ arguments: [String] = [], standardInput: Data? = nil,
        environment: [String: String] = ProcessInfo.processInfo.environment,
        directory: String? = nil
    ) throws {
        let spawned = try SpawnedProcess(
            path, arguments, hasInput: standardInput != nil, environment: environment,
            directory: directory)
        pid = spawned.pid
        command = ([path] + arguments).joined(separator: " ")
        watch = ProcessWatch(spawned, standardInput: standardInput ?? Data())
    }

    deinit { watch.kill(SIGKILL) }

    /// Sends a signal, unless the process has ended.
    public func kill(_ signal: Int32) { watch.kill(signal) }

    /// What it has written to standard output until now.
    public var standardOutputSoFar: String { watch.outputs.0 }

    /// What it has written to standard error until now.
    public var standardErrorSoFar: String { watch.outputs.1 }

    /// Waits until its standard output and standard error are as wanted.
    ///
    /// - Parameter timeout: seconds. Default: 300, as of ``wait(timeout:)``.
    /// - Returns: false if it has ended, or the time has passed, and they are not.
    public func waitForOutput(
        timeout: Double = 300, until isEnough: (String, String) -> Bool
    ) -> Bool {
        watch.wait(seconds: timeout, until: isEnough)
    }

    /// Waits for its end and that of its output; may be called more than once.
    ///
    /// - Throws: ``ProcessTimeout`` after `timeout` seconds (default 300: other tests may keep
    ///   every processor), when it has been killed.
    public func wait(timeout: Double = 300) throws -> Finished {
        if let finished = watch.wait(seconds: timeout) { return finished }
        watch.kill(SIGKILL)
        _ = watch.wait(seconds: 5)
        let (output, error) = watch.outputs
        throw ProcessTimeout(
            command: command, seconds: timeout, standardOutput: output, standardError: error)
    }
}
