/// The object stores for tests.
///
/// Tests use them as arguments: `@Test(arguments: S3ServerKind.installed)`.
public enum S3ServerKind: String, CaseIterable, Sendable {
    case rclone, ceph

    /// The stores that are installed. `S3ServerTests` reports the reason if one is missing.
    public static let installed = allCases.filter { $0.missing == nil }

    /// The reason why the store cannot be started; nil if it can.
    public var missing: String? {
        switch self {
        case .rclone: RcloneServer.missing
        case .ceph: CephServer.missing
        }
    }

    /// Returns the server that all tests of this process share. Each test creates its own buckets.
    /// Tests must not suspend or stop the server.
    public func shared() async throws -> any S3Server {
        switch self {
        case .rclone: try await Self.sharedRclone.value
        case .ceph: try await Self.sharedCeph.value
        }
    }

    private static let sharedRclone = Task { try await RcloneServer() }
    private static let sharedCeph = Task { try await CephServer() }
}
