import Foundation
import LarderTestSupport
import Testing

/// Responses meant to keep larder busy or to fill its memory.
@Suite(.timeLimit(.minutes(30))) struct HostileAnswerTests {
    /// Runs each command that uses a remote against a server that answers with `answer` only.
    private func runAll(
        _ options: [String] = [], _ answer: @escaping @Sendable (Request) -> Reply,
        _ check: (_ command: String, Finished) throws -> Void
    ) async throws {
        try await withFixture { larder in
            let store = try Origin()
            store.onAny(answer)
            let manifest = try larder.manifest(urls: larder.origin.serveIcons(2))
            #expect(try larder.prefetch(manifest).status == 0)
            for command in [
                ["prefetch", manifest, "--allow-private-network"],
                ["remote", "pull", "--manifest", manifest], ["remote", "push"],
                ["remote", "verify"], ["remote", "evict", "--max-age", "1d"],
            ] {
                let name = command[0] == "remote" ? command[1] : command[0]
                let cache = name == "push" ? larder.cache : larder.directory.path(name)
                let arguments = ["--remote", "s3://icons/shared", "--cache", cache]
                let process = try larder.binary.start(
                    command + options + arguments,
                    environment: [
                        "AWS_ACCESS_KEY_ID": "A", "AWS_SECRET_ACCESS_KEY": "B",
                        "AWS_ENDPOINT_URL": store.baseURL,
                    ])
                let finished = try await onThreadOfItsOwn { try process.wait(timeout: 60) }
                try check(name, finished)
            }
        }
    }

    /// These 900 bytes kept libxml2 busy forever. A first interrupt had no effect.
    @Test(arguments: [200, 404, 403, 400])
    func nestedEntitiesDoNotKeepACommandBusy(status: Int) async throws {
        let entities = (1...9).map { level in
            let inner = String(repeating: "&#37;a\(level - 1);", count: 10)
            return "<!ENTITY % a\(level) \"\(inner)\">"
        }
        let body = """
            <?xml version="1.0"?>
            <!DOCTYPE Error [<!ENTITY % a0 "<!--x-->">\(entities.joined())%a9;]>
            <Error><Code>NoSuchKey</Code></Error>
            """
        try await runAll {
            _ in
            .ok(body, type: "application/xml").status(status)
        } _: { command, finished in
            // The command ends without a crash.
            #expect([0, 1, 2].contains(finished.status), "\(command): \(finished)")
        }
    }

    /// Eight megabytes of such markup took 500 MB of memory, or minutes.
    @Test(
        .isLong,
        arguments: ["<!---->", "<?p?>", "<a><!-- --></a>", "<![CDATA[x]]>", "<Contents>"])
    func largeMarkupStaysWithinTheMemoryLimit(piece: String) async throws {
        let noise = String(repeating: piece, count: (7 << 20) / piece.utf8.count)
        let body = "<ListBucketResult><IsTruncated>false</IsTruncated>\(noise)</ListBucketResult>"
        try await runAll(["--remote-concurrent", "1"]) { request in
            request.target.contains("list-type") ? .ok(body) : .status(404)
        } _: { command, finished in
            #expect([0, 1, 2].contains(finished.status), "\(command): \(finished)")
            let peak = try #require(finished.peakMemoryBytes)
            #expect(peak < 120_000_000, "\(command)")
        }
    }

    /// Every page names further objects in larder's layout.
    @Test func anEndlessListingEndsTheCommand() async throws {
        try await runAll(["--remote-max-objects", "500"]) { request in
            request.target.contains("list-type") ? .ok(Self.page(request)) : .status(404)
        } _: { command, finished in
            #expect(finished.status == 1, "\(command): \(finished)")
            #expect(
                finished.standardError.contains(
                    "s3://icons/shared: a listing contains more than 500 names;"
                        + " --remote-max-objects permits more"),
                "\(command): \(finished)")
        }
    }

    /// Returns a page with the next 600 names, even if the client asks for fewer.
    private static func page(_ request: Request) -> String {
        let query = URLComponents(string: request.target)?.queryItems ?? []
        func value(_ name: String) -> String { query.first { $0.name == name }?.value ?? "" }
        let prefix = value("prefix")
        let isObjects = prefix.contains("objects/")
        let byte = prefix.split(separator: "/").last { $0.utf8.count == 2 } ?? ""
        let last = value("start-after").split(separator: "/").last.map { $0.suffix(12) } ?? ""
        let start = (Int(last, radix: 16) ?? 0) + 1
        let names = (start..<start + 600).map { number in
            let digits = String(number, radix: 16)
            let name = String(repeating: "0", count: 62 - digits.utf8.count) + digits
            // The prefix of a part, or of a single name.
            let folder =
                prefix.split(separator: "/").count > 3
                ? prefix : prefix + String(repeating: "f", count: 64) + "/"
            return isObjects ? prefix + byte + name : folder + "00" + name
        }
        return """
            <ListBucketResult><IsTruncated>true</IsTruncated>\(names.map {
                "<Contents><Key>\($0)</Key><LastModified>2026-01-01T00:00:00Z</LastModified>"
                    + "<Size>7</Size></Contents>"
            }.joined())</ListBucketResult>
            """
    }

    @Test func remoteMaxObjectsMustBePositive() async throws {
        try await withFixture { larder in
            for number in ["0", "-1", "x"] {
                let finished = try larder.run(
                    "remote", "verify", "--remote", "s3://icons/a", "--remote-max-objects", number)
                #expect(finished.status == 64, "\(finished)")
            }
            #expect(try larder.run("remote", "verify", "--remote-max-objects", "5").status == 64)
        }
    }
}
