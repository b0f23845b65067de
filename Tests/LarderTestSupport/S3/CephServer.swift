import Foundation

/// Ceph's object gateway with a one-node cluster in memory.
///
/// It is about as strict as Amazon S3 about signatures and digests, and takes 10 to 20 seconds to
/// start.
public final class CephServer: S3Server {
    private let process: ServerProcess

    /// Starts a server and waits until it is ready. Most tests use ``S3ServerKind/shared()``.
    public init() async throws {
        if let missing = Self.missing { throw ServerFailure(name: "ceph", message: missing) }
        process = try await onThreadOfItsOwn {
            try ServerProcess.start(
                "ceph.sh", portCount: 2, [S3Credentials.accessKey, S3Credentials.secretKey])
        }
        // The first bucket takes seconds, because the gateway creates its storage pools.
        _ = try await makeBucket()
    }

    /// The reason why the server cannot be started; nil if it can.
    public static let missing: String? = {
        let programs = ["ceph-mon", "ceph-osd", "radosgw", "radosgw-admin", "ceph", "monmaptool"]
        return programs.first { ServerProcess.program($0) == nil }
            .map { "\($0) is not installed (Scripts/setup --servers)" }
    }()

    /// The base URL, such as `http://127.0.0.1:43211`.
    public var endpoint: String { "http://127.0.0.1:\(process.port)" }
    /// Suspends all of its processes (SIGSTOP).
    public func suspend() { process.suspend() }
    /// Resumes its processes (SIGCONT).
    public func resume() { process.resume() }
    /// Stops the server and removes its files.
    public func stop() { process.stop() }

    /// Limits the size of a bucket. Larger uploads fail with `QuotaExceeded`.
    ///
    /// - Parameter bytes: The limit, or nil for none.
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
