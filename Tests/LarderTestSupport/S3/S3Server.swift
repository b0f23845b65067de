/// A real object store on the loopback interface.
///
/// It stops when its last reference is released or the test process ends, even by a crash.
public protocol S3Server: Sendable {
    /// The base URL, such as `http://127.0.0.1:43211`. Buckets are in the path. Any region works.
    var endpoint: String { get }

    /// Suspends all of its processes (SIGSTOP). Connections stay open but get no response.
    func suspend()
    /// Resumes its processes (SIGCONT).
    func resume()
    /// Stops the server and removes its files.
    func stop()
}

extension S3Server {
    /// The access key of a user with all permissions.
    public var accessKey: String { S3Credentials.accessKey }
    /// The secret of ``accessKey``.
    public var secretKey: String { S3Credentials.secretKey }

    /// Creates a bucket with a random name and returns the name.
    public func makeBucket() async throws -> String {
        let bucket = "larder-\(String(UInt64.random(in: 0...(.max)), radix: 36))"
        try await onThreadOfItsOwn {
            // Signed by curl, not by the code under test.
            let finished = try RunningProcess(
                ServerProcess.program("curl") ?? "curl",
                [
                    "--disable", "--silent", "--show-error", "--fail-with-body", "--noproxy", "*",
                    "--request", "PUT", "--aws-sigv4", "aws:amz:us-east-1:s3",
                    "--user", "\(accessKey):\(secretKey)",
                    "--header", "x-amz-content-sha256: \(ReferenceSHA256.hex([]))",
                    "\(endpoint)/\(bucket)",
                ]
            ).wait()
            guard finished.status == 0 else {
                throw ServerFailure(name: "PUT /\(bucket)", message: "\(finished)")
            }
        }
        return bucket
    }
}

/// The credentials of all test servers.
enum S3Credentials {
    static let accessKey = "AKIALARDERTESTS"
    /// Contains characters that URLs and shells treat specially.
    static let secretKey = "not/a+secret"
}
