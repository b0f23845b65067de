/// A real object store on the loopback interface, run for tests.
///
/// It ends when its last reference goes, and when the test process ends, however that ends.
public protocol S3Server: Sendable {
    /// Such as `http://127.0.0.1:43211`. Buckets are in the path; any region will do.
    var endpoint: String { get }
    /// Who may do everything.
    var accessKey: String { get }
    /// The key's secret.
    var secretKey: String { get }

    /// Stops every process of it in its tracks (SIGSTOP): connections stay, nothing is answered.
    func suspend()
    /// Lets them go on.
    func resume()
    /// Ends it and removes its files.
    func stop()
}

extension S3Server {
    /// The same for all of them.
    public var accessKey: String { "AKIALARDERTESTS" }
    /// The same for all of them, with what an URL or a shell would mind.
    public var secretKey: String { "not/a+secret" }

    /// Makes a bucket that nobody else has, and returns its name.
    public func makeBucket() async throws -> String {
        let bucket = "larder-\(String(UInt64.random(in: 0...(.max)), radix: 36))"
        try await onThreadOfItsOwn {
            // Signed by another program than the one under test.
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
