import Foundation
import LarderTestSupport

/// A bucket, read and changed with curl instead of larder. Keys are relative to the prefix
/// `shared/`.
struct Bucket: Sendable {
    let server: any S3Server
    let name: String

    /// The value of `--remote`.
    var location: String { "s3://\(name)/shared" }

    func put(_ key: String, _ bytes: some Sequence<UInt8>) async throws {
        let finished = try await curl(
            ["--request", "PUT", "--data-binary", "@-", url(key)], input: Data(bytes))
        guard finished.status == 0 else { throw BrokenPromise("PUT \(key): \(finished)") }
    }

    /// Returns nil if the object does not exist.
    func get(_ key: String) async throws -> [UInt8]? {
        let finished = try await curl([url(key)])
        return finished.status == 0 ? Array(finished.standardOutputBytes) : nil
    }

    func delete(_ key: String) async throws {
        let finished = try await curl(["--request", "DELETE", url(key)])
        guard finished.status == 0 else { throw BrokenPromise("DELETE \(key): \(finished)") }
    }

    func keys(_ prefix: String) async throws -> [String] {
        var keys: [String] = []
        while true {
            func encoded(_ key: String) -> String {
                "shared/\(key)".replacingOccurrences(of: "/", with: "%2F")
            }
            let after = keys.last.map { "&start-after=\(encoded($0))" } ?? ""
            let page = try await curl([
                "\(server.endpoint)/\(name)?list-type=2&prefix=\(encoded(prefix))\(after)"
            ])
            guard page.status == 0 else { throw BrokenPromise("list \(prefix): \(page)") }
            let parts = page.standardOutput.components(separatedBy: "<Key>").dropFirst()
            keys += parts.map { String($0.prefix { $0 != "<" }.dropFirst("shared/".utf8.count)) }
            if !page.standardOutput.contains("<IsTruncated>true<") { return keys }
        }
    }

    /// Returns the SHA-256 digests of the URLs that have references.
    func names() async throws -> Set<String> {
        Set(try await keys("refs/").map { String($0.split(separator: "/")[2]) })
    }

    private func url(_ key: String) -> String { "\(server.endpoint)/\(name)/shared/\(key)" }

    private func curl(_ arguments: [String], input: Data? = nil) async throws -> Finished {
        let server = server
        return try await onThreadOfItsOwn {
            try RunningProcess(
                "/usr/bin/curl",
                [
                    "--disable", "--silent", "--fail-with-body", "--noproxy", "*",
                    "--aws-sigv4", "aws:amz:us-east-1:s3",
                    "--user", "\(server.accessKey):\(server.secretKey)",
                    "--header", "x-amz-content-sha256: UNSIGNED-PAYLOAD",
                ] + arguments, standardInput: input
            ).wait()
        }
    }
}

/// The keys of objects and references in a remote.
enum RemoteName {
    static func object(_ bytes: [UInt8]) -> String {
        let digest = ReferenceSHA256.hex(bytes)
        return "objects/sha256/\(digest.prefix(2))/\(digest)"
    }

    /// The prefix of a URL's references.
    static func references(_ url: String) -> String {
        let host = URL(string: url)?.host ?? ""
        let part = ReferenceSHA256.hex(Array(host.utf8)).suffix(2)
        return "refs/\(part)/\(name(url))/"
    }

    static func reference(_ url: String, to bytes: [UInt8]) -> String {
        references(url) + ReferenceSHA256.hex(bytes)
    }

    static func name(_ url: String) -> String { ReferenceSHA256.hex(Array(url.utf8)) }
}
