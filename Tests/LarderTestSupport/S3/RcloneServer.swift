import Foundation

/// `rclone serve s3`: starts quickly and is lenient. It checks credentials but not request bodies.
public final class RcloneServer: S3Server {
    private let process: ServerProcess

    /// Starts a server and waits until it is ready.
    ///
    /// - Parameter capacity: The approximate capacity in bytes, which needs ``supportsCapacity``.
    ///   By default, the disk is the limit.
    public init(capacity: Int? = nil) async throws {
        guard let program = Self.program else {
            throw ServerFailure(name: "rclone", message: Self.missing ?? "")
        }
        process = try await onThreadOfItsOwn {
            try ServerProcess(
                "rclone.sh",
                [program, S3Credentials.accessKey, S3Credentials.secretKey]
                    + (capacity.map { ["\($0)"] } ?? []))
        }
    }

    /// The reason why the server cannot be started; nil if it can.
    public static var missing: String? {
        program == nil ? "rclone is not installed (Scripts/setup --servers)" : nil
    }

    /// Whether a server with a capacity can be started. It needs root to mount a file system.
    public static var supportsCapacity: Bool {
        #if os(Linux)
            geteuid() == 0 && ServerProcess.program("unshare") != nil
        #else
            false
        #endif
    }

    private static let program = ServerProcess.program("rclone")

    /// The base URL, such as `http://127.0.0.1:43211`.
    public var endpoint: String { "http://127.0.0.1:\(process.port)" }
    /// Suspends all of its processes (SIGSTOP).
    public func suspend() { process.suspend() }
    /// Resumes its processes (SIGCONT).
    public func resume() { process.resume() }
    /// Stops the server and removes its files.
    public func stop() { process.stop() }
}
