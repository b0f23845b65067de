/// The object stores that tests run on, such as `@Test(arguments: S3ServerKind.installed)`.
public enum S3ServerKind: String, CaseIterable, Sendable {
    case rclone, ceph

    /// Those that this machine has. (`S3ServerTests` is skipped, with the reason, for another.)
    public static let installed = allCases.filter { $0.missing == nil }

    /// Why there is none; nil if there is.
    public var missing: String? {
        switch self {
        case .rclone: RcloneServer.missing
        case .ceph: CephServer.missing
        }
    }

    /// The one that all tests of this process share, each with buckets of its own. It ends when the
    /// process does; nobody may suspend or stop it.
    public func shared() async throws -> any S3Server {
        switch self {
        case .rclone: try await Self.sharedRclone.value
        case .ceph: try await Self.sharedCeph.value
        }
    }

    private static let sharedRclone = Task { try await RcloneServer() }
    private static let sharedCeph = Task { try await CephServer() }
}
