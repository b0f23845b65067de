import Foundation

/// Ceph's object gateway over a cluster of one, in memory: about as strict as Amazon's store about
/// signatures and digests. It takes ten to twenty seconds to start.
public final class CephServer: S3Server {
    private let process: ServerProcess

    /// Starts one and waits for it. Most tests use ``S3ServerKind/shared()``.
    public init() async throws {
        if let missing = Self.missing { throw ServerFailure(name: "ceph", message: missing) }
        process = try await onThreadOfItsOwn { try Self.start() }
        // The first one takes seconds, since it makes what buckets are kept in.
        _ = try await makeBucket()
    }

    /// The kernel chooses the ports, but somebody else may take them before Ceph does.
    private static func start() throws -> ServerProcess {
        var attempts = 0
        while true {
            attempts += 1
            do {
                let sockets = try (0..<2).map { _ in try Socket.bound(to: .ipv4, port: 0) }
                let ports = try sockets.map { try Socket.port(of: $0) }
                for socket in sockets { close(socket) }
                return try ServerProcess(
                    "ceph.sh", ports.map { "\($0)" } + ["AKIALARDERTESTS", "not/a+secret"])
            } catch  where attempts < 3 {}
        }
    }

    /// Why it cannot be started; nil if it can.
    public static let missing: String? = {
        let programs = ["ceph-mon", "ceph-osd", "radosgw", "radosgw-admin", "ceph", "monmaptool"]
        return programs.first { ServerProcess.program($0) == nil }
            .map { "\($0) is not installed (Scripts/setup --servers)" }
    }()

    /// Such as `http://127.0.0.1:43211`.
    public var endpoint: String { "http://127.0.0.1:\(process.port)" }
    /// SIGSTOP for each of its processes.
    public func suspend() { process.suspend() }
    /// SIGCONT for each of them.
    public func resume() { process.resume() }
    /// Ends it and removes its files.
    public func stop() { process.stop() }

    /// Refuses what would make a bucket larger than that: `QuotaExceeded`.
    ///
    /// - Parameter bytes: nil: as large as it likes.
    public func setQuota(_ bytes: Int?, of bucket: String) async throws {
        let scope = ["--quota-scope", "bucket", "--bucket", bucket]
        if let bytes {
            try await administer(["quota", "set", "--max-size", "\(bytes)"] + scope)
        }
        try await administer(["quota", bytes == nil ? "disable" : "enable"] + scope)
    }

    private func administer(_ arguments: [String]) async throws {
        let configuration = process.directory.path("ceph.conf")
        try await onThreadOfItsOwn {
            let finished = try RunningProcess(
                ServerProcess.program("radosgw-admin") ?? "",
                ["-c", configuration, "-n", "client.rgw.a"] + arguments
            ).wait()
            guard finished.status == 0 else {
                throw ServerFailure(name: "radosgw-admin", message: "\(finished)")
            }
        }
    }
}
