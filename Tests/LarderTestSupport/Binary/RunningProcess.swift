import Foundation
import Synchronization

/// A process started by a test. It is killed when this object is released.
public final class RunningProcess: Sendable {
    /// The process id. It is not reused before ``wait(timeout:)`` can return.
    public let pid: Int32
    private let command: String
    private let watch: ProcessWatch

    /// Starts `path` and captures its output. The child inherits only the three standard
    /// descriptors. Its signals are unblocked and have their default actions.
    ///
    /// - Parameters:
    ///   - standardInput: The input, or nil for `/dev/null`.
    ///   - environment: The complete environment.
    ///   - directory: The working directory, or nil for that of the tests.
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

    /// The standard output until now.
    public var standardOutputSoFar: String { watch.outputs.0 }

    /// Waits until standard output and standard error satisfy a condition.
    ///
    /// - Parameter timeout: The limit in seconds.
    /// - Returns: False if the process has ended, or the time is over, before they do.
    public func waitForOutput(
        timeout: Double = 300, until isEnough: (String, String) -> Bool
    ) -> Bool {
        watch.wait(seconds: timeout, until: isEnough)
    }

    /// Waits until the process has ended and its output is closed. It can be called more than once.
    ///
    /// - Throws: ``ProcessTimeout`` after `timeout` seconds, once the process is killed. The
    ///   default of 300 allows for other tests that use every processor.
    public func wait(timeout: Double = 300) throws -> Finished {
        if let finished = watch.wait(seconds: timeout) { return finished }
        watch.kill(SIGKILL)
        _ = watch.wait(seconds: 5)
        let (output, error) = watch.outputs
        throw ProcessTimeout(
            command: command, seconds: timeout, standardOutput: output, standardError: error)
    }
}

/// Writes a program that a test runs.
///
/// A child process writes it. If this process did, a process that another test starts at that
/// moment would inherit the descriptor, and running the program would fail with ETXTBSY.
public func writeProgram(_ text: String, to path: String) throws {
    let write = ["-c", "cat > \"$0\" && chmod 755 \"$0\"", path]
    let finished = try RunningProcess("/bin/sh", write, standardInput: Data(text.utf8)).wait()
    guard finished.status == 0 else { throw CocoaError(.fileWriteUnknown) }
}
