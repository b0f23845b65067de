import Foundation

/// `rclone serve s3`: quick to start and lenient. It checks who asks, and not what arrives.
public final class RcloneServer: S3Server {
    private let process: ServerProcess

    /// Starts one and waits for it; a moment.
    ///
    /// - Parameter capacity: how many bytes it can keep, about; see ``canBeFull``.
    ///   Default: nil, what the disk has.
    public init(capacity: Int? = nil) async throws {
        guard let program = Self.program else {
            throw ServerFailure(name: "rclone", message: Self.missing ?? "")
        }
        process = try await onThreadOfItsOwn {
            try ServerProcess(
                "rclone.sh",
                [program, "AKIALARDERTESTS", "not/a+secret"] + (capacity.map { ["\($0)"] } ?? []))
        }
    }

    /// Why it cannot be started; nil if it can.
    public static var missing: String? {
        program == nil ? "rclone is not installed (Scripts/setup --servers)" : nil
    }

    /// Whether one with a capacity can be started.
    public static var canBeFull: Bool {
        #if os(Linux)
            geteuid() == 0 && ServerProcess.program("unshare") != nil
        #else
            false
        #endif
    }

    private static let program = ServerProcess.program("rclone")

    /// Such as `http://127.0.0.1:43211`.
    public var endpoint: String { "http://127.0.0.1:\(process.port)" }
    /// SIGSTOP for each of its processes.
    public func suspend() { process.suspend() }
    /// SIGCONT for each of them.
    public func resume() { process.resume() }
    /// Ends it and removes its files.
    public func stop() { process.stop() }
}
